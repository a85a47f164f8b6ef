from .accelerator import Accelerator as Accelerator
from .data.skip import skip_first_batches as skip_first_batches
from .launch.notebook import debug_launcher as debug_launcher
from .launch.notebook import notebook_launcher as notebook_launcher
from .machine.packages import is_rich_available as is_rich_available
from .memory import find_executable_batch_size as find_executable_batch_size
from .parallelism_config import ParallelismConfig as ParallelismConfig
from .plugins.data import DataLoaderConfiguration as DataLoaderConfiguration
from .plugins.enums import DDPCommunicationHookType as DDPCommunicationHookType
from .plugins.enums import DistributedType as DistributedType
from .plugins.handlers import AutocastKwargs as AutocastKwargs
from .plugins.handlers import DistributedDataParallelKwargs as DistributedDataParallelKwargs
from .plugins.handlers import GradScalerKwargs as GradScalerKwargs
from .plugins.handlers import InitProcessGroupKwargs as InitProcessGroupKwargs
from .plugins.later import DeepSpeedPlugin as DeepSpeedPlugin
from .plugins.later import FullyShardedDataParallelPlugin as FullyShardedDataParallelPlugin
from .plugins.profile import ProfileKwargs as ProfileKwargs
from .seeds import synchronize_rng_states as synchronize_rng_states
from .state import PartialState as PartialState

__version__: str
