// The control of bench/flat_loop.py: what fwd_wgmma does for bf16, head dim 128, full or causal, 128 x 128 tiles that
// come out even, written flat by hand: PTX in place, offsets as numbers, no layouts, no roles, no spec. Anything that
// the contract asks beyond that is missing here: other lengths, sinks, windows, packed storage, V with Inf.
//
// q, k, v, out: [batch, seqlen, heads, 128], dense; lse: [batch, heads, seqlen].
struct Map {
  alignas(64) unsigned char bytes[128];
};
struct Params {
  Map q, k, v, out;
  float* lse;
  unsigned* counter;  // 0, and 0 again after the grid; then the CTAs that have finished
  float scale, scale_log2;
  int seqlen, heads, batch, causal;
  unsigned heads_in_flight, head_groups, tiles;
};

#define PTX(...) asm volatile(__VA_ARGS__)
#define R8(x, i) x(i), x(i + 1), x(i + 2), x(i + 3), x(i + 4), x(i + 5), x(i + 6), x(i + 7)
#define R64(x) R8(x, 0), R8(x, 8), R8(x, 16), R8(x, 24), R8(x, 32), R8(x, 40), R8(x, 48), R8(x, 56)
#define S_REG(i) "+f"(s[i])
#define O_REG(i) "+f"(o[i])
#define D_LIST                                                                                               \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,"  \
  "%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53," \
  "%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}"

// Bytes from the start of shared memory.
#define Q_FULL(turn) (smem + 0u + 8u * ((turn)&1u))
#define Q_EMPTY(turn) (smem + 16u + 8u * ((turn)&1u))
#define K_FULL(step) (smem + 32u + 8u * ((step)&1u))
#define V_FULL(step) (smem + 48u + 8u * ((step)&1u))
#define K_EMPTY(step) (smem + 64u + 8u * ((step)&1u))
#define V_EMPTY(step) (smem + 80u + 8u * ((step)&1u))
#define WORK(turn) (smem + 128u + 16u * ((turn)&3u))
#define Q_TILE(turn) (smem + 1024u + 32768u * ((turn)&1u))
#define K_TILE(step) (smem + 66560u + 65536u * ((step)&1u))
#define V_TILE(step) (smem + 99328u + 65536u * ((step)&1u))
#define OUT_TILE (smem + 197632u)

#define INIT(bar, count) PTX("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory")
#define ARRIVE(bar) PTX("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory")
#define WAIT(bar, parity)                                                                                 \
  do {                                                                                                    \
    unsigned done;                                                                                        \
    do {                                                                                                  \
      PTX("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" \
          : "=r"(done)                                                                                    \
          : "r"(bar), "r"(parity)                                                                         \
          : "memory");                                                                                    \
    } while (done == 0);                                                                                  \
  } while (0)
#define LOAD(tile, map, bar, row, head, entry)                                                                        \
  do {                                                                                                                \
    PTX("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 32768;" ::"r"(bar) : "memory");                           \
    PTX("cp.async.bulk.tensor.4d.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4,%5,%6}], [%2];" :: \
            "r"(tile),                                                                                                \
        "l"(map), "r"(bar), "r"(0), "r"(row), "r"(head), "r"(entry)                                                   \
        : "memory");                                                                                                  \
    PTX("cp.async.bulk.tensor.4d.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4,%5,%6}], [%2];" :: \
            "r"(tile + 16384u),                                                                                       \
        "l"(map), "r"(bar), "r"(64), "r"(row), "r"(head), "r"(entry)                                                  \
        : "memory");                                                                                                  \
  } while (0)

// S = Q K^T of the warpgroup's 64 rows and 128 keys: K-major operands, 128-byte swizzle, eight rows 1024 bytes apart.
#define ISSUE_SCORES(step)                                                                                       \
  do {                                                                                                           \
    const unsigned k_low = 0x10000u | (K_TILE(step) >> 4);                                                       \
    PTX("wgmma.fence.sync.aligned;" ::: "memory");                                                               \
    _Pragma("unroll") for (unsigned i = 0; i < 8; ++i) {                                                         \
      const unsigned at = i / 4 * 1024u + i % 4 * 2u;                                                            \
      const unsigned long long a = 0x4000004000000000ull | (q_low + at);                                         \
      const unsigned long long b = 0x4000004000000000ull | (k_low + at);                                         \
      PTX("{ .reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " D_LIST \
          ", %64, %65, p, 1, 1, 0, 0; }"                                                                         \
          : R64(S_REG)                                                                                           \
          : "l"(a), "l"(b), "r"(i));                                                                             \
    }                                                                                                            \
    PTX("wgmma.commit_group.sync.aligned;" ::: "memory");                                                        \
  } while (0)

// O += P V: V is MN-major, the second 64 columns 16384 bytes behind the first.
#define ISSUE_VALUES(step)                                                                                        \
  do {                                                                                                            \
    const unsigned v_low = 0x4000000u | (V_TILE(step) >> 4);                                                      \
    PTX("wgmma.fence.sync.aligned;" ::: "memory");                                                                \
    _Pragma("unroll") for (unsigned i = 0; i < 8; ++i) {                                                          \
      const unsigned long long b = 0x4000004000000000ull | (v_low + 128u * i);                                    \
      PTX("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " D_LIST ", {%64,%65,%66,%67}, %68, 1, 1, 1, 1;" \
          : R64(O_REG)                                                                                            \
          : "r"(w[4 * i]), "r"(w[4 * i + 1]), "r"(w[4 * i + 2]), "r"(w[4 * i + 3]), "l"(b));                      \
    }                                                                                                             \
    PTX("wgmma.commit_group.sync.aligned;" ::: "memory");                                                         \
  } while (0)
#define WAIT_PRODUCTS(pending) PTX("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory")
#define SHUFFLE_XOR(x, delta) __shfl_xor_sync(0xffffffffu, x, delta)
#define PACK(d, low, high) PTX("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(high), "f"(low))
#define EX2(d, x) asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(x))

// The largest of the lane's part of each of its two rows, in four chains, over the row's lanes.
#define LARGEST(a, b)                                                 \
  do {                                                                \
    float c[8] = {s[0], s[1], s[4], s[5], s[2], s[3], s[6], s[7]};    \
    _Pragma("unroll") for (int i = 4; i < 32; ++i) {                  \
      c[i % 4] = fmaxf(c[i % 4], s[4 * (i / 2) + i % 2]);             \
      c[4 + i % 4] = fmaxf(c[4 + i % 4], s[4 * (i / 2) + 2 + i % 2]); \
    }                                                                 \
    a = fmaxf(fmaxf(c[0], c[1]), fmaxf(c[2], c[3]));                  \
    b = fmaxf(fmaxf(c[4], c[5]), fmaxf(c[6], c[7]));                  \
    a = fmaxf(a, SHUFFLE_XOR(a, 1)), a = fmaxf(a, SHUFFLE_XOR(a, 2)); \
    b = fmaxf(b, SHUFFLE_XOR(b, 1)), b = fmaxf(b, SHUFFLE_XOR(b, 2)); \
  } while (0)
// A block's weights and their sums, against the maxima in use.
#define WEIGH()                                                            \
  do {                                                                     \
    _Pragma("unroll") for (int i = 0; i < 64; ++i) {                       \
      EX2(s[i], fmaf(s[i], p.scale_log2, -(i / 2 % 2 ? shift1 : shift0))); \
      float& t = i / 2 % 2 ? t1 : t0;                                      \
      t = i == 0 || i == 2 ? s[i] : t + s[i];                              \
    }                                                                      \
  } while (0)
// Where a lane's weights sum up to more than 32 * 2^8, their row takes a new maximum.
#define RAISE_OUTGROWN()                                                      \
  do {                                                                        \
    moved = __any_sync(0xffffffffu, fmaxf(t0, t1) > 8192.0f);                 \
    if (moved) {                                                              \
      float a, b;                                                             \
      LARGEST(a, b);                                                          \
      t0 = fmaxf(t0, SHUFFLE_XOR(t0, 1)), t1 = fmaxf(t1, SHUFFLE_XOR(t1, 1)); \
      const bool r0 = fmaxf(t0, SHUFFLE_XOR(t0, 2)) > 8192.0f;                \
      const bool r1 = fmaxf(t1, SHUFFLE_XOR(t1, 2)) > 8192.0f;                \
      shift0 += r0 ? log2f(a) : 0.0f, shift1 += r1 ? log2f(b) : 0.0f;         \
      f0 = r0 ? 1.0f / a : 1.0f, f1 = r1 ? 1.0f / b : 1.0f;                   \
      sum0 *= f0, sum1 *= f1, t0 = t1 = 0.0f;                                 \
      _Pragma("unroll") for (int i = 0; i < 64; ++i) {                        \
        s[i] *= i / 2 % 2 ? f1 : f0;                                          \
        (i / 2 % 2 ? t1 : t0) += s[i];                                        \
      }                                                                       \
    }                                                                         \
  } while (0)
#define ADD_SUMS() sum0 += t0, sum1 += t1
#define NARROW() _Pragma("unroll") for (int i = 0; i < 32; ++i) PACK(w[i], s[2 * i], s[2 * i + 1])
#define SHRINK(a, b) _Pragma("unroll") for (int i = 0; i < 64; ++i) o[i] *= i / 2 % 2 ? b : a
// Registers that a product writes are not read before its wait.
#define HOLD(x) _Pragma("unroll") for (int i = 0; i < 64; ++i) asm volatile("" : "+f"(x[i])::"memory")
#define RELEASE(bar) \
  if (threadIdx.x % 128u == 0) ARRIVE(bar)
#define UNIFORM(x) x = __reduce_or_sync(0xffffffffu, x)
#define READ_WORK(turn)                                   \
  PTX("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"             \
      : "=r"(blocks), "=r"(row0), "=r"(head), "=r"(entry) \
      : "r"(WORK(turn))                                   \
      : "memory")

// A tile's rows leave, 16 of each warp through its part of shared memory, two panels of 64 columns.
#define WRITE_ROWS()                                                                                                   \
  do {                                                                                                                 \
    SHRINK(f0, f1);                                                                                                    \
    const unsigned staged = OUT_TILE + 4096u * (4u * group + warp);                                                    \
    if (lane == 0) PTX("cp.async.bulk.wait_group.read 0;" ::: "memory");                                               \
    __syncwarp();                                                                                                      \
    _Pragma("unroll") for (unsigned i = 0; i < 8; ++i) {                                                               \
      unsigned x[4];                                                                                                   \
      _Pragma("unroll") for (unsigned r = 0; r < 4; ++r) PACK(x[r], o[8 * i + 2 * r], o[8 * i + 2 * r + 1]);           \
      const unsigned at = lane % 16u * 128u + ((i % 4u * 32u + lane / 16u * 16u) ^ (lane % 8u * 16u));                 \
      PTX("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(staged + i / 4u * 2048u + at),         \
          "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])                                                                   \
          : "memory");                                                                                                 \
    }                                                                                                                  \
    PTX("fence.proxy.async.shared::cta;" ::: "memory");                                                                \
    __syncwarp();                                                                                                      \
    if (lane == 0) {                                                                                                   \
      _Pragma("unroll") for (unsigned panel = 0; panel < 2; ++panel) {                                                 \
        PTX("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2,%3,%4,%5}], [%1];" ::"l"(&p.out),          \
            "r"(staged + 2048u * panel), "r"(64u * panel), "r"(row), "r"(out_head), "r"(out_entry)                     \
            : "memory");                                                                                               \
      }                                                                                                                \
      PTX("cp.async.bulk.commit_group;" ::: "memory");                                                                 \
    }                                                                                                                  \
    if (lane % 4u == 0) {                                                                                              \
      float* const to = p.lse + (static_cast<long long>(out_entry) * p.heads + out_head) * p.seqlen + row + lane / 4u; \
      to[0] = lse0;                                                                                                    \
      to[8] = lse1;                                                                                                    \
    }                                                                                                                  \
  } while (0)

extern "C" __global__ void __launch_bounds__(384, 1) fwd_flat(const __grid_constant__ Params p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  if (threadIdx.x == 0) {
    for (unsigned i = 0; i < 2; ++i) {
      INIT(Q_FULL(i), 1);
      INIT(Q_EMPTY(i), 8);
      INIT(K_FULL(i), 1);
      INIT(V_FULL(i), 1);
      INIT(K_EMPTY(i), 2);
      INIT(V_EMPTY(i), 2);
    }
    PTX("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();

  if (threadIdx.x < 128) {
    PTX("setmaxnreg.dec.sync.aligned.u32 72;");
    if (threadIdx.x != 0) return;
    unsigned next = blockIdx.x, turn = 0, k_step = 0, v_step = 0, blocks, head, entry;
    unsigned row0_n = 0, head_n = 0, entry_n = 0, blocks_n;
    const unsigned tiles_m = static_cast<unsigned>(p.seqlen) / 128u;
    // The tile `next`: heavy ones first in a group of heads. Ends with 0 blocks.
#define FIND()                                                                                             \
  do {                                                                                                     \
    blocks_n = 0;                                                                                          \
    if (next < p.tiles) {                                                                                  \
      const unsigned of_id = next / (p.heads_in_flight * tiles_m), last = p.head_groups - 1u;              \
      const unsigned group = of_id < last ? of_id : last, in = next - group * p.heads_in_flight * tiles_m; \
      const unsigned left = static_cast<unsigned>(p.heads * p.batch) - group * p.heads_in_flight;          \
      const unsigned heads = group < last ? p.heads_in_flight : left;                                      \
      const unsigned of_all = group * p.heads_in_flight + in % heads, tile = tiles_m - 1u - in / heads;    \
      row0_n = 128u * tile, entry_n = of_all / p.heads, head_n = of_all - entry_n * p.heads;               \
      blocks_n = p.causal ? tile + 1u : tiles_m;                                                           \
      next = gridDim.x + atomicAdd(p.counter, 1u);                                                         \
    } else if (atomicInc(p.counter + 1, gridDim.x - 1u) == gridDim.x - 1u) {                               \
      *p.counter = 0;                                                                                      \
    }                                                                                                      \
  } while (0)
#define SEND_Q()                                                                                            \
  do {                                                                                                      \
    WAIT(Q_EMPTY(turn), turn / 2u % 2u ^ 1u);                                                               \
    PTX("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(WORK(turn)), "r"(blocks_n), "r"(row0_n), "r"(head_n), \
        "r"(entry_n)                                                                                        \
        : "memory");                                                                                        \
    if (blocks_n == 0) {                                                                                    \
      ARRIVE(Q_FULL(turn));                                                                                 \
    } else {                                                                                                \
      LOAD(Q_TILE(turn), &p.q, Q_FULL(turn), row0_n, head_n, entry_n);                                      \
    }                                                                                                       \
    ++turn;                                                                                                 \
  } while (0)
#define SEND_K(block, head, entry)                                         \
  do {                                                                     \
    WAIT(K_EMPTY(k_step), k_step / 2u % 2u ^ 1u);                          \
    LOAD(K_TILE(k_step), &p.k, K_FULL(k_step), (block)*128u, head, entry); \
    ++k_step;                                                              \
  } while (0)
    FIND();
    SEND_Q();
    if (blocks_n != 0) SEND_K(blocks_n - 1u, head_n, entry_n);
    while (blocks_n != 0) {
      blocks = blocks_n, head = head_n, entry = entry_n;
      bool q_sent = false;
      for (unsigned i = 0; i < blocks; ++i) {
        if (i == (blocks < 2u ? blocks : 2u) - 1u) FIND();
        if (i + 1u < blocks) {
          SEND_K(blocks - 2u - i, head, entry);
          if (i == 1u) {
            SEND_Q();
            q_sent = true;
          }
        } else if (blocks_n != 0) {
          SEND_K(blocks_n - 1u, head_n, entry_n);
        }
        WAIT(V_EMPTY(v_step), v_step / 2u % 2u ^ 1u);
        LOAD(V_TILE(v_step), &p.v, V_FULL(v_step), (blocks - 1u - i) * 128u, head, entry);
        ++v_step;
      }
      if (!q_sent) SEND_Q();
    }
    return;
  }

  PTX("setmaxnreg.inc.sync.aligned.u32 216;");
  unsigned group = threadIdx.x / 128u - 1u, turn = 0, step = 0, blocks, row0, head, entry;
  unsigned row, out_head, out_entry;
  UNIFORM(group);
  const unsigned lane = threadIdx.x % 32u, warp = threadIdx.x / 32u % 4u;
  float s[64], o[64], shift0, shift1, sum0, sum1, t0, t1, f0, f1, lse0, lse1;
  unsigned w[32];
  bool moved;
  WAIT(Q_FULL(0u), 0u);
  READ_WORK(0u);
  UNIFORM(blocks);
  if (blocks == 0) return;
  unsigned q_low = 0x10000u | (Q_TILE(0u) >> 4) + 512u * group;
  UNIFORM(q_low);
  WAIT(K_FULL(0u), 0u);
  ISSUE_SCORES(0u);
  while (true) {
    sum0 = sum1 = 0.0f;
#pragma unroll
    for (int i = 0; i < 64; ++i) o[i] = 0.0f;
    UNIFORM(step);
    const unsigned end = step + blocks;
    WAIT_PRODUCTS(0);
    HOLD(s);
    RELEASE(K_EMPTY(step));
    if (p.causal) {
      // The last block of keys lies on the diagonal; a bit for each of the lane's columns, lowest first.
      const int first = static_cast<int>(64u * group + 16u * warp + lane / 4u) + 1 - static_cast<int>(lane % 4u * 2u);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int inside = max(0, first + 8 * half);
        const unsigned count = inside / 8 * 2 + min(inside % 8, 2);
        const unsigned visible = count >= 32u ? 0xffffffffu : (1u << count) - 1u;
#pragma unroll
        for (int i = 0; i < 32; ++i) {
          if ((visible >> i & 1u) == 0) s[4 * (i / 2) + 2 * half + i % 2] = -__int_as_float(0x7f800000);
        }
      }
    }
    LARGEST(shift0, shift1);
    shift0 *= p.scale_log2, shift1 *= p.scale_log2;
    WEIGH();
    ADD_SUMS();
    NARROW();
    if (++step < end) WAIT(K_FULL(step), step / 2u % 2u);
    for (; step < end; ++step) {
      ISSUE_SCORES(step);
      WAIT(V_FULL(step - 1u), (step - 1u) / 2u % 2u);
      ISSUE_VALUES(step - 1u);
      WAIT_PRODUCTS(1);
      RELEASE(K_EMPTY(step));
      WEIGH();
      RAISE_OUTGROWN();
      ADD_SUMS();
      if (step + 1u < end) WAIT(K_FULL(step + 1u), (step + 1u) / 2u % 2u);
      WAIT_PRODUCTS(0);
      RELEASE(V_EMPTY(step - 1u));
      if (moved) {
        SHRINK(f0, f1);
      }
      NARROW();
    }
    __syncwarp();
    if (lane == 0) ARRIVE(Q_EMPTY(turn));
    WAIT(V_FULL(step - 1u), (step - 1u) / 2u % 2u);
    ISSUE_VALUES(step - 1u);

    // The rows' ends, under the last product.
    row = row0 + 64u * group + 16u * warp, out_head = head, out_entry = entry;
    sum0 += SHUFFLE_XOR(sum0, 1), sum0 += SHUFFLE_XOR(sum0, 2);
    sum1 += SHUFFLE_XOR(sum1, 1), sum1 += SHUFFLE_XOR(sum1, 2);
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(lse0) : "f"(sum0));
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(lse1) : "f"(sum1));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(f0) : "f"(sum0));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(f1) : "f"(sum1));
    lse0 = (lse0 + shift0) * 0.6931471805599453f;
    lse1 = (lse1 + shift1) * 0.6931471805599453f;

    ++turn;
    WAIT(Q_FULL(turn), turn / 2u % 2u);
    READ_WORK(turn);
    UNIFORM(blocks);
    WAIT_PRODUCTS(0);
    HOLD(o);
    RELEASE(V_EMPTY(step - 1u));
    UNIFORM(step);
    if (blocks == 0) break;
    q_low = 0x10000u | (Q_TILE(turn) >> 4) + 512u * group;
    UNIFORM(q_low);
    WAIT(K_FULL(step), step / 2u % 2u);
    ISSUE_SCORES(step);
    WRITE_ROWS();  // under the next tile's first product
  }
  WRITE_ROWS();
  if (lane == 0) PTX("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
