# What hwloc sees where the system says nothing of caches.
cat > topology.xml <<'X'
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x1" complete_cpuset="0x1" allowed_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
    <object type="Package" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="2">
      <object type="NUMANode" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="3" local_memory="4294967296"/>
      <object type="Core" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="4">
        <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="5"/>
      </object>
    </object>
  </object>
</topology>
X
taskset -c 0 true 2>/dev/null || { echo "CPU 0 may not be used here"; exit 77; }
HWLOC_XMLFILE=$PWD/topology.xml HWLOC_THISSYSTEM=1 taskset -c 0 roofline measure -q --quick >measure.txt
echo "exit $?"
grep -c '^L1\.load ' measure.txt
