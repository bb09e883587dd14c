# SPDX-License-Identifier: Apache-2.0
"""What the file of a cluster on EC2 says, as far as this program needs it. Ansible reads the same file by -e."""

import os
import re

from cluster.failure import WrongUse


def read(path):
    """The settings of a file. A value that Ansible decrypts reads as None."""
    import yaml  # comes with Ansible

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_multi_constructor("!", lambda loader, suffix, node: None)
    try:
        with open(path, encoding="utf-8") as f:
            found = yaml.load(f, Loader)  # noqa: S506 (a SafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise WrongUse(f'"{path}" cannot be read: {error}') from None
    if not isinstance(found, dict):
        raise WrongUse(f'"{path}" has no settings; one like deploy/ansible/cloud.example.yml is wanted')
    return found


def beside(path, kind):
    """The file of a kind that lies beside the file of a cluster: demo.yml has demo.aws_ec2.yml and demo.prices.yml."""
    return f"{re.sub(r'[.]ya?ml$', '', os.path.abspath(path))}.{kind}.yml"


def literal(settings, name, path):
    """A setting that this program needs as it stands."""
    value = settings.get(name)
    if not isinstance(value, str) or not value or "{{" in value:
        raise WrongUse(f'"{path}" has to say {name}, and not by a template')
    return value
