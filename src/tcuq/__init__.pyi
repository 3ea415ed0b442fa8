from ._core import Step as Step
from .base.errors import InputError as InputError
from .fitting.fit import fit as fit
from .fitting.options import FitOptions as FitOptions
from .labels.accuracy import accuracy_band as accuracy_band
from .labels.accuracy import accuracy_from_labels as accuracy_from_labels
from .labels.sampler import LabelSampler as LabelSampler
from .log.gauges import gauge_names as gauge_names
from .log.gauges import input_gauges as input_gauges
from .log.log import Log as Log
from .log.logits import softmax as softmax
from .monitor.alarm import Alarm as Alarm
from .monitor.alarm import AlarmSide as AlarmSide
from .monitor.bank import Bank as Bank
from .monitor.feedback import Feedback as Feedback
from .monitor.heads import EvidenceHead as EvidenceHead
from .monitor.heads import InstantHead as InstantHead
from .monitor.heads import Sight as Sight
from .monitor.monitor import Monitor as Monitor
from .monitor.params import Params as Params
from .monitor.signals import PROFILES as PROFILES
from .monitor.signals import SIGNALS as SIGNALS
from .monitor.steps import STEP_DTYPE as STEP_DTYPE
from .monitor.steps import Steps as Steps
from .monitor.steps import moved_name as moved_name
from .monitor.steps import reason_names as reason_names
from .monitor.steps import step_columns as step_columns
from .recording.run import record as record
from .report.plot import plot_steps as plot_steps

__version__: str
Questions = LabelSampler
