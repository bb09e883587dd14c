# SPDX-License-Identifier: Apache-2.0
"""moto's server, as `moto_server` starts it, but that volumes without a snapshot have an empty snapshotId, as EC2 tells of them and as
amazon.aws.ec2_vol_info expects it.

  python3 tests/ansible/moto_server.py -H HOST -p PORT
"""

import sys

from moto.ec2.models.elastic_block_store import Volume


def mend():
    """Volumes without a snapshot have an empty snapshotId from now on."""
    made = Volume.__init__

    def make(self, *arguments, **options):
        made(self, *arguments, **options)
        self.snapshot_id = self.snapshot_id or ""

    Volume.__init__ = make


if __name__ == "__main__":
    from moto.server import main
    mend()
    sys.exit(main(sys.argv[1:]))
