// wgmma.mma_async and its groups (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions"):
// issue, commit, wait, and the rules of registers in flight. The arithmetic stands in wgmma_product.cpp.
#include <algorithm>

#include "model/runtime/collective.h"
#include "model/runtime/text.h"
#include "model/runtime/wgmma_product.h"

namespace fovea::model {

namespace {
constexpr const char* kName = "wgmma.mma_async";

void need_wgmma(const Thread& self) {
  const u32 threads = self.machine->config.threads;
  if (self.machine->config.sm != 90) {
    self.fail(Code::architecture,
              format("wgmma exists on sm_90a only, this launch is for sm_%d", self.machine->config.sm));
  }
  if (self.tid / 128 * 128 + 128 > threads) {
    self.fail(Code::illegal_argument,
              format("%s in a warpgroup that is not complete: the CTA has %u threads", kName, threads));
  }
}

WarpgroupState& group_of(const Warp& w) { return *w.cta->warpgroups[w.index / 4]; }

// The warp's next product; the first warp to come makes it, the others must agree with it.
Product& join_product(Warp& w, const WgmmaArgs& args) {
  WarpgroupState& group = group_of(w);
  const u32 q = w.index % 4;
  const u32 index = group.issued[q]++ - group.first_product;
  const bool rs = args.a != nullptr;
  if (index == group.products.size()) {
    Product& made = group.products.emplace_back();
    made.op = args.op;
    made.n = args.n;
    made.trans_a = args.trans_a;
    made.trans_b = args.trans_b;
    made.scale_d = args.scale_d;
    made.from_registers = rs;
    made.desc_a = args.desc_a;
    made.desc_b = args.desc_b;
    made.group = group.committed[q] + 1;
  }
  Product& product = group.products[index];
  const bool same = product.op == args.op && product.n == args.n && product.trans_a == args.trans_a &&
                    product.trans_b == args.trans_b && product.scale_d == args.scale_d &&
                    product.from_registers == rs && product.desc_b == args.desc_b && product.desc_a == args.desc_a &&
                    product.group == group.committed[q] + 1;
  if (!same) {
    w.lanes[0].fail(
        Code::divergent_collective,
        format("%s number %u of this warp differs, in shape, descriptor, scale-d or group, from what another "
               "warp of the warpgroup issued",
               kName, group.issued[q]));
  }
  product.joined |= 1U << q;
  return product;
}

// Registers that are in flight already belong to their chain; others start one, and from now on hold the mark.
void take_registers(Warp& w, Product& product) {
  WarpgroupState& group = group_of(w);
  const u32 q = w.index % 4, bit = 1U << q, first = w.lanes[0].tid % 128;
  f32* key = operands_of<const WgmmaArgs>(w, 0).d;
  for (const auto& chain : group.active) {
    if ((chain->warps_active & bit) == 0 || chain->registers[first] != key) continue;
    if (chain->n != product.n || (product.accumulators && product.accumulators != chain)) {
      w.lanes[0].fail(Code::accumulator_in_flight,
                      format("%s with N = %u into accumulators that a product with N = %u still writes", kName,
                             product.n, chain->n));
    }
    product.accumulators = chain;
    return;
  }
  if (!product.accumulators) {
    product.accumulators = std::make_shared<Accumulators>();
    product.accumulators->n = product.n;
    product.accumulators->value.resize(std::size_t{128} * product.n / 2);
    group.active.push_back(product.accumulators);
  }
  Accumulators& chain = *product.accumulators;
  chain.warps_active |= bit;
  const auto& before = group.returned[q];
  bool untouched = before != nullptr && before->n == product.n;
  for (u32 l = 0; l < 32; ++l) {
    f32* d = operands_of<const WgmmaArgs>(w, l).d;
    chain.registers[first + l] = d;
    untouched = untouched && before->registers[first + l] == d;
    for (u32 i = 0; i < product.n / 2; ++i) {
      const u32 bits = f32_bits(d[i]);
      const std::size_t at = (std::size_t{first} + l) * product.n / 2 + i;
      if (product.scale_d) w.lanes[l].need_defined(bits, kName, "d (the accumulator)");
      untouched = untouched && before->value[at] == bits;
      chain.value[at] = bits;
      d[i] = f32_from_bits(kInFlightBits);
    }
  }
  if (!group.fenced[q] && !untouched) {
    w.lanes[0].fail(
        Code::accumulator_in_flight,
        format("%s without wgmma.fence, which comes before the first one and after accumulators were touched", kName));
  }
}

void need_untouched(const Warp& w, const Accumulators& chain) {
  const u32 first = w.lanes[0].tid % 128;
  for (u32 l = 0; l < 32; ++l) {
    for (u32 i = 0; i < chain.n / 2; ++i) {
      if (f32_bits(chain.registers[first + l][i]) == kInFlightBits) continue;
      w.lanes[l].fail(Code::accumulator_in_flight,
                      format("accumulator %u was changed between %s and its wait", i, kName));
    }
  }
}

// The registers of every chain that has no product beyond `through`.
void return_registers(Warp& w, u32 through) {
  WarpgroupState& group = group_of(w);
  const u32 q = w.index % 4, bit = 1U << q, first = w.lanes[0].tid % 128;
  for (const auto& chain : group.active) {
    if ((chain->warps_active & bit) == 0) continue;
    const bool pending = std::any_of(group.products.begin(), group.products.end(), [&](const Product& p) {
      return p.accumulators == chain && p.group > through && (p.joined & bit) != 0;
    });
    if (pending) continue;
    need_untouched(w, *chain);
    for (u32 l = 0; l < 32; ++l) {
      for (u32 i = 0; i < chain->n / 2; ++i) {
        chain->registers[first + l][i] = f32_from_bits(chain->value[(std::size_t{first} + l) * chain->n / 2 + i]);
      }
    }
    chain->warps_active &= ~bit;
    group.returned[q] = chain;
    group.fenced[q] = false;
  }
  std::erase_if(group.active, [](const auto& chain) { return chain->warps_active == 0; });
  // Products whose registers have all been returned are history.
  while (!group.products.empty() && group.products.front().landed &&
         group.products.front().accumulators->warps_active == 0) {
    group.products.pop_front();
    ++group.first_product;
  }
}

bool committed_by_all(const WarpgroupState& group, u32 through) {
  return std::all_of(group.committed, group.committed + 4, [through](u32 groups) { return groups >= through; });
}

void finish_wait(Warp& w, u32 through) {
  WarpgroupState& group = group_of(w);
  for (Product& product : group.products) {
    if (product.group > through) continue;
    if (product.joined != 0xfU) {
      w.lanes[0].fail(Code::divergent_collective,
                      format("wgmma.wait_group for a group in which only warps 0x%x of the warpgroup issued %s",
                             product.joined, kName));
    }
    land_product(*w.cta, w.index / 4, product);
  }
  return_registers(w, through);
  for (u32 l = 0; l < 32; ++l) {
    w.lanes[l].clock.products_waited = std::max(w.lanes[l].clock.products_waited, through);
    w.lanes[l].waiting = Waiting::nothing;
  }
}
}  // namespace

void Thread::wgmma_fence() {
  need_wgmma(*this);
  collective(Collective::wgmma_fence, 0, nullptr, [](Warp& w) {
    group_of(w).fenced[w.index % 4] = true;
    return true;
  });
}

void Thread::wgmma(const WgmmaArgs& args) {
  need_wgmma(*this);
  for (u32 r = 0; args.a != nullptr && r < 4; ++r) need_defined(args.a[r], kName, "a");
  WgmmaArgs mine = args;
  const u32 detail = static_cast<u32>(args.op) | (args.n << 4U) | (args.trans_a ? 1U << 16U : 0U) |
                     (args.trans_b ? 1U << 17U : 0U) | (args.scale_d ? 1U << 18U : 0U) |
                     (args.a != nullptr ? 1U << 19U : 0U);
  collective(Collective::wgmma, detail, &mine, [](Warp& w) {
    Machine& m = *w.cta->machine;
    const WgmmaArgs& first = operands_of<const WgmmaArgs>(w, 0);
    for (u32 l = 1; l < 32; ++l) {
      const WgmmaArgs& other = operands_of<const WgmmaArgs>(w, l);
      if (other.desc_a == first.desc_a && other.desc_b == first.desc_b) continue;
      w.lanes[l].fail(Code::illegal_argument, format("%s with descriptors that differ from lane 0's", kName));
    }
    Product& product = join_product(w, first);
    take_registers(w, product);
    for (u32 l = 0; first.a != nullptr && l < 32; ++l) {
      std::copy_n(operands_of<const WgmmaArgs>(w, l).a, 4, product.a[w.lanes[l].tid % 128]);
    }
    check_operands(w, product);
    if (product.joined == 0xfU) {
      ++m.counters.wgmma;
      const AsyncLanding landing = m.config.landing;
      const bool now =
          landing == AsyncLanding::eager || (landing == AsyncLanding::random && m.scheduler.random().below(2) == 0);
      if (now) land_product(*w.cta, w.index / 4, product);
    }
    return true;
  });
}

void Thread::wgmma_commit_group() {
  need_wgmma(*this);
  collective(Collective::wgmma_commit, 0, nullptr, [](Warp& w) {
    WarpgroupState& group = group_of(w);
    ++group.committed[w.index % 4];
    std::erase_if(group.waiting, [&](Warp* other) {
      const u32 through = other->lanes[0].wait_detail;
      if (!committed_by_all(group, through)) return false;
      finish_wait(*other, through);
      w.cta->machine->scheduler.make_runnable(*other, ~0U);
      return true;
    });
    return true;
  });
}

void Thread::wgmma_wait_group(u32 newest_pending) {
  need_wgmma(*this);
  collective(Collective::wgmma_wait, newest_pending, nullptr, [newest_pending](Warp& w) {
    WarpgroupState& group = group_of(w);
    const u32 committed = group.committed[w.index % 4];
    const u32 through = committed > newest_pending ? committed - newest_pending : 0;
    if (committed_by_all(group, through)) {
      finish_wait(w, through);
      return true;
    }
    for (u32 l = 0; l < 32; ++l) {
      w.lanes[l].waiting = Waiting::products;
      w.lanes[l].wait_detail = through;
    }
    group.waiting.push_back(&w);
    return false;
  });
}

void WarpgroupState::check_exit(const Thread& self) const {
  if (active.empty()) return;
  const u32 bit = 1U << (self.warp->index % 4);
  const bool mine =
      std::any_of(active.begin(), active.end(), [bit](const auto& a) { return (a->warps_active & bit) != 0; });
  if (mine) self.fail(Code::exit_with_pending, "exit with wgmma products that were not waited for");
}

}  // namespace fovea::model
