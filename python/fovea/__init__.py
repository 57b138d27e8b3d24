"""fovea: attention kernels that are right on every shape. `fovea.attention` is the call; the rest helps around it.

torch is not needed; where it is installed tvm-ffi, which carries the calls, imports it. `fovea.compat` has the
signatures of other packages, `fovea.integrations` the plug-ins; `import fovea.torch_ops` makes torch.ops.fovea.
"""

from .api import attention, doctor, explain, merge_states, supports, warmup
from .binding import version as _version
from .errors import Error

__version__ = _version()
__all__ = ["Error", "attention", "doctor", "explain", "merge_states", "supports", "warmup"]
