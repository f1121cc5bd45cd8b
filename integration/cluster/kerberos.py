"""A warehouse on an HDFS that asks for Kerberos: `python -m integration.cluster.kerberos`.

The key distribution center is MIT's, of Debian's packages krb5-kdc and krb5-admin-server; a name
node and a data node are Hadoop's. What ran is printed with seconds; the first thing that is not as
promised ends it. `--protection privacy` encrypts all that is said.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from integration import sessions
from integration.cluster import hadoop
from integration.cluster.hadoop import Cluster
from integration.cluster.yarn import told
from integration.keyed import create_keyed
from keyfold.stores.hadoop import HadoopFiles
from keyfold.stores.settings import store_options
from tests.ports import free_port
from tests.stores.life import lived

REALM, HOST = "KEYFOLD.TEST", "localhost"
SERVICE, WEB, USER = f"hdfs/{HOST}", f"HTTP/{HOST}", "etl"
CLIENTS = """
[libdefaults]
  default_realm = {realm}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
  {realm} = {{
    kdc = 127.0.0.1:{port}
  }}
[domain_realm]
  {host} = {realm}
"""
CENTER = """
[kdcdefaults]
  kdc_listen = 127.0.0.1:{port}
  kdc_tcp_listen = 127.0.0.1:{port}
[realms]
  {realm} = {{
    database_name = {folder}/principals
    key_stash_file = {folder}/stash
    acl_file = {folder}/acl
  }}
"""


def program(name: str) -> str:
    """The path of one of MIT's programs."""
    found = shutil.which(name, path=f"/usr/sbin:{os.environ['PATH']}")
    assert found, f"{name} is missing: apt-get install krb5-kdc krb5-admin-server"
    return found


@contextmanager
def center(folder: Path) -> Iterator[Path]:
    """A key distribution center that this process and those it starts ask; a file with the keys of
    all who are known there.
    """
    named = {"realm": REALM, "host": HOST, "port": free_port(), "folder": folder}
    clients, own, keys = folder / "krb5.conf", folder / "kdc.conf", folder / "keytab"
    clients.write_text(CLIENTS.format(**named))
    own.write_text(CENTER.format(**named))
    os.environ |= {"KRB5_CONFIG": str(clients), "KRB5_KDC_PROFILE": str(own)}
    os.environ |= {"KRB5CCNAME": f"FILE:{folder}/tickets"}
    steps = [[program("kdb5_util"), "create", "-s", "-P", "a-master-key", "-r", REALM]]
    asked = [f"addprinc -randkey {name}" for name in (SERVICE, WEB, USER)]
    asked.append(f"ktadd -k {keys} {SERVICE} {WEB} {USER}")
    steps += [[program("kadmin.local"), "-q", each] for each in asked]
    for step in steps:
        subprocess.run(step, check=True, capture_output=True, timeout=hadoop.DEADLINE)
    with (folder / "kdc.log").open("wb") as log:
        server = subprocess.Popen([program("krb5kdc"), "-n"], stdout=log, stderr=log)
    try:
        yield keys
    finally:
        server.kill()
        server.wait()


@contextmanager
def secure(folder: Path, keys: Path, protection: str) -> Iterator[Cluster]:
    """A name node and a data node that talk to those alone who have logged in."""
    port = free_port()
    owners = {"dfs.namenode": SERVICE, "dfs.datanode": SERVICE, "dfs.web.authentication": WEB}
    settings = {
        "fs.defaultFS": f"hdfs://{HOST}:{port}",
        "hadoop.security.authentication": "kerberos",
        "hadoop.rpc.protection": protection,
        "dfs.block.access.token.enable": "true",
        "dfs.data.transfer.protection": protection,
        "ignore.secure.ports.for.testing": "true",  # a data node that root did not start
        **{f"{of}.kerberos.principal": f"{name}@{REALM}" for of, name in owners.items()},
        **{f"{of}.keytab.file": str(keys) for of in ("dfs.namenode", "dfs.datanode")},
        "dfs.web.authentication.kerberos.keytab": str(keys),
        "dfs.namenode.http-address": f"{HOST}:0",
        "dfs.namenode.name.dir": str(folder / "name"),
        "dfs.datanode.data.dir": str(folder / "data"),
        **{f"dfs.datanode.{kind}address": f"{HOST}:0" for kind in ("", "http.", "ipc.")},
        "dfs.replication": "1",
    }
    (folder / "conf").mkdir()
    hadoop.write_settings(folder / "conf", settings, "core-site.xml", "hdfs-site.xml")
    java = {"JDK_JAVA_OPTIONS": f"-Djava.security.krb5.conf={os.environ['KRB5_CONFIG']}"}
    cluster = Cluster(f"hdfs://{HOST}:{port}", folder, hadoop.environment(folder) | java, {})
    try:
        formatting = cluster.start("namenode.NameNode", "-format", "-nonInteractive")
        assert formatting.wait(hadoop.DEADLINE) == 0, (folder / "log").read_text()[-3000:]
        cluster.nodes += map(cluster.start, ("namenode.NameNode", "datanode.DataNode"))
        yield cluster
    finally:
        for node in cluster.nodes:
            node.kill()
            node.wait()


def login(keys: Path, name: str, protection: str) -> dict[str, str]:
    """The settings of a catalog that logs in, without files of Hadoop's."""
    return {
        "security.kerberos.login.principal": f"{name}@{REALM}",
        "security.kerberos.login.keytab": str(keys),
        "dfs.data.transfer.protection": protection,
    }


def main() -> None:
    """All of it, on servers of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kinds = ("authentication", "integrity", "privacy")
    parser.add_argument("--protection", choices=kinds, default=kinds[0], help="of what is said")
    protection: str = parser.parse_args().protection
    with tempfile.TemporaryDirectory(prefix="kerberos-", dir=os.environ.get("TMPDIR")) as name:
        folder, since = Path(name), time.monotonic()
        with center(folder) as keys, secure(folder, keys, protection) as cluster:
            _make_room(cluster, login(keys, SERVICE, protection))
            since = told(f"a name node and a data node that want Kerberos, {protection}", since)
            options = {"warehouse": f"{cluster.uri}/lake", **login(keys, USER, protection)}
            lived(options | {"warehouse": f"{cluster.uri}/lake/life"})
            since = told("the life of a table, by a principal's key", since)
            _in_spark(folder, options)
            since = told("INSERT, MERGE and SELECT through Spark", since)
            said = _refused(cluster)
            told(f"without a login: {said}", since)


def _make_room(cluster: Cluster, options: dict[str, str]) -> None:
    """A folder of the user's, made by the owner of the file system once both nodes are there."""

    def made() -> None:
        files = HadoopFiles(cluster.uri, store_options(cluster.uri, options))
        files.make_folder(f"{cluster.uri}/lake")
        files.client.set_owner("/lake", USER)
        files.write(f"{cluster.uri}/is-there", b"1")

    hadoop.until(cluster, made)


def _in_spark(folder: Path, options: dict[str, str]) -> None:
    own = {f"spark.sql.catalog.secure.{setting}": value for setting, value in options.items()}
    spark = sessions.start(folder, **own)
    spark.conf.set("spark.sql.catalog.secure", "keyfold.spark.KeyfoldCatalog")
    spark.sql("CREATE NAMESPACE secure.shop")
    create_keyed(spark, "secure.shop.t", "k BIGINT, v BIGINT")
    spark.sql("INSERT INTO secure.shop.t SELECT id, 1 FROM RANGE(1000)")
    spark.sql(
        "MERGE INTO secure.shop.t t USING (SELECT id AS k FROM RANGE(10)) s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET v = 2"
    )
    found = tuple(spark.sql("SELECT COUNT(*), SUM(v) FROM secure.shop.t").first())
    spark.stop()
    assert found == (1000, 1010), found


def _refused(cluster: Cluster) -> str:
    """The error of a process without a login; the tickets of this one are not its."""
    shutil.rmtree(cluster.folder / "tickets", ignore_errors=True)
    code = (
        "import sys; from keyfold.storage.catalogs.warehouse import open_catalog\n"
        "try: open_catalog('lake', {'warehouse': sys.argv[1]})\n"
        "except Exception as error: print(f'{type(error).__name__}: {error}')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, f"{cluster.uri}/lake"],
        env=os.environ | {"KRB5CCNAME": f"FILE:{cluster.folder}/no-tickets"},
        capture_output=True,
        text=True,
        timeout=hadoop.DEADLINE,
        check=True,
    )
    assert "security.kerberos.login.principal" in done.stdout, done.stdout
    return done.stdout.strip()


if __name__ == "__main__":
    main()
