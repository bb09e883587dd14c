# SPDX-License-Identifier: Apache-2.0
"""Counts the tasks of a play into the file KILL_COUNT. It kills Ansible and all its processes KILL_AFTER seconds after the task KILL_AT, a
number from 1, or one whose name begins with KILL_NAME, has begun; without either it only counts."""

import os
import signal
import threading

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: kill_at
type: aggregate
short_description: kill Ansible at a task
description: [For tests.]
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "kill_at"

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.count = 0

    def begun(self, task):
        self.count += 1
        with open(os.environ["KILL_COUNT"], "a", encoding="utf-8") as f:
            f.write(f"{task.get_name()}\n")
        name = os.environ.get("KILL_NAME")
        if self.count == int(os.environ.get("KILL_AT", "0")) or (name and task.get_name().rpartition(" : ")[2].startswith(name)):
            threading.Timer(float(os.environ["KILL_AFTER"]), os.killpg, (os.getpgid(0), signal.SIGKILL)).start()

    def v2_playbook_on_task_start(self, task, is_conditional):
        self.begun(task)

    def v2_playbook_on_handler_task_start(self, task):
        self.begun(task)
