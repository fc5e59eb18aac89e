"""How many executions each coming minute will start, which schedules make the worst of them, and what would help.

Everything here but `reading` is arithmetic: told what jobs have which schedule, it counts. Ten thousand jobs are
counted in two seconds, because jobs that run alike are counted together and a day of a schedule is one step, not 1,440.
"""

from scheduling.load.advice import Advice
from scheduling.load.groups import Groups, Written
from scheduling.load.report import Hour, Part, Report, WorstMinute, report_on
from scheduling.load.window import MOST_HOURS, Window

__all__ = ["MOST_HOURS", "Advice", "Groups", "Hour", "Part", "Report", "Window", "WorstMinute", "Written", "report_on"]
