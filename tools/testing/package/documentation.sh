#!/bin/bash
# SPDX-License-Identifier: MIT
#
# documentation.sh - the documentation builds without a warning, and its links lead somewhere; it names every tunable, file, command, option and
# metric; alert rules and dashboard speak of metrics that there are
#
# Builds into $BUILD/htmldocs. Parameters and commands against their own references: suite source.
. "$(dirname "$0")/lib.sh"

html=$BUILD/htmldocs
promtool=$(command -v promtool || echo "$GPREEMPT_CACHE/unpacked/$("$TOP/dkms/release.sh" promtool)/usr/bin/promtool")

if ! command -v sphinx-build >/dev/null && [ ! -x /usr/share/sphinx/scripts/python3/sphinx-build ]; then
	echo "1..0 # SKIP Sphinx is not installed: tools/testing/deps.sh --package"
	exit 0
fi

builds()
{
	"$TOP/Documentation/build" "$html"
	is "pages" "$(( $(find "$html" -name '*.html' | wc -l) > 20 ))" 1
}

# Links, and what a forge shows: it executes no includes, and knows no roles of Sphinx.
pages_hold()
{
	"$TOP/tools/testing/package/pages.py" "${1:-$TOP/Documentation}" "${2:-$html}" >"$scratch/pages"
	is "mistakes" "$(cat "$scratch/pages")" ""
}

page_mistakes_are_seen()
{
	local want

	mkdir -p "$scratch/pages-copy" "$scratch/pages-html"
	cp "$TOP"/Documentation/*.rst "$scratch/pages-copy/"
	printf '\nSee design.rst and :doc:`faq`.\n\n.. include:: faq.rst\n' >>"$scratch/pages-copy/testing.rst"
	sed -i '/<faq.rst>/d' "$scratch/pages-copy/index.rst"
	echo '<a href="a.html#no">x</a> <a href="b.html">y</a> <ul><li></li></ul>' >"$scratch/pages-html/a.html"
	not pages_hold "$scratch/pages-copy" "$scratch/pages-html"
	for want in "design.rst is no link" "does not show :doc:\`faq\`" "does not show .. include::" "no sentence about faq.rst" \
		"a.html#no has no such section" "b.html is not there" "1 empty bullets"; do
		grep -qF "$want" "$scratch/pages" || { echo "not seen: $want"; return 1; }
	done
}

generated()
{
	"$TOP/Documentation/rules.py" --check
	"$TOP/Documentation/tunables.py" --check
}

# As bench.py --document does, with what a made-up run has reached: nothing.
tables_are_put()
{
	PYTHONPATH=$TOP/tools/testing/bench:$TOP/tools/testing python3 - "$TOP/Documentation/performance.rst" <<-'END'
		import re, sys
		import document
		with open(sys.argv[1]) as f:
		    page = f.read()
		bench = {"summary": {}, "thresholds": [], "model": {"device": "made up " * 20}}
		new = document.put_tables(page, bench)
		parts = re.findall(r"(?s)\.\. begin (\w+)\n\n(.*?)\n\n\.\. end \1\n", new)
		assert [name for name, _ in parts] == ["GOALS", "THRESHOLDS", "MODEL"], parts
		assert "made up" in parts[2][1] and "8.9 us" not in parts[0][1] and "1.026" not in parts[1][1], parts
		assert not re.search(r" -( |$)", "".join(table for _, table in parts), re.M), "a bullet for a cell"
		assert max(map(len, parts[2][1].split("\n"))) <= 100, "a long line"
		assert document.put_tables(new, bench) == new
	END
}

warnings_count()
{
	mkdir -p "$scratch/copy"
	cp -r "$TOP"/{Documentation,dkms.conf,include,kfd_gpreempt} "$scratch/copy/"
	printf '\nTitle\n==\n\n:ref:`nowhere`\n' >>"$scratch/copy/Documentation/faq.rst"
	! "$scratch/copy/Documentation/build" "$scratch/html" >"$scratch/log" 2>&1 || { echo "it builds all the same"; return 1; }
	has "$scratch/log" "Sphinx found something"
}

# words: all there are on the pages, one a line
words()
{
	find "$html" -name '*.html' ! -path '*/.doctrees/*' -exec sed 's/<[^>]*>//g' {} + | grep -oE '[A-Za-z_][A-Za-z0-9_-]*|--[a-z][a-z-]*' | sort -u
}

# all_there KIND NAME...
all_there()
{
	local kind=$1

	shift
	[ $# -gt 1 ] || { echo "no $kind was found in the source"; return 1; }
	printf '%s\n' "$@" | sort -u | comm -23 - "$scratch/words" >"$scratch/missing"
	is "$kind without a word" "$(tr '\n' ' ' <"$scratch/missing")" ""
}

metrics()
{
	{
		grep -hoE '"gpreempt_[a-z_]+"' "$TOP"/tools/gpreemptctl/{stats,usage_metrics}.c | tr -d '"'
		grep -oE 'gpreempt_(preempted_queues|node_info|device_info|slots)' "$TOP/tools/gpreemptctl/stats.c"
		sed -n '/^} latencies\[\]/,/^};/s/^	{ "\([a-z_]*\)", .*/gpreempt_\1_seconds/p' "$TOP/tools/gpreemptctl/stats.c"
	} | grep -v 's_$' | sort -u
}

# shellcheck disable=SC2046 # lists of words
everything_is_named()
{
	local header=$TOP/include/uapi/linux/kfd_gpreempt.h

	words >"$scratch/words"
	all_there "parameters" $(sed -n 's/^What:.*\/\(gpreempt_[a-z_]*\)$/\1/p' "$TOP/Documentation/ABI/testing/sysfs-module-amdgpu-gpreempt")
	all_there "tunables" $("$TOP/Documentation/tunables.py" --rows | cut -f 1)
	all_there "files of nodes" $(sed -nE 's/^COUNTER(_OF)?\(([a-z_]+)[,)].*/\2/p; s/^	(SKIPPED|FAILED)\([A-Z_]+, ([a-z_]+)\),.*/\L\1_\2/p' "$TOP/kfd_gpreempt/core/sysfs.c") \
		$(sed -nE 's/^LATENCY\([A-Z_]+, ([a-z_]+)\);/\1_count \1_ns_sum \1_ns_max \1_us_p50 \1_us_p99/p' "$TOP/kfd_gpreempt/core/sysfs.c")
	all_there "files of debugfs" $(sed -n 's/.*debugfs_create_file("\([a-z_]*\)".*/\1/p' "$TOP/kfd_gpreempt/control/debugfs.c")
	all_there "files of queues" $(sed -n 's/^QUEUE_ATTRIBUTE(\([a-z_]*\),.*/\1/p' "$TOP/kfd_gpreempt/control/queue_sysfs.c")
	all_there "ioctls" $(grep -oE '^#define (GPREEMPT|AMDKFD)_IOC_[A-Z_]*' "$header" | sed 's/.* //')
	all_there "options of gpreemptctl" $(sed -n 's/^	{ "\([a-z-]*\)", \(OPT_[A-Z_]*\|'"'.'"'\), .*/--\1/p' "$TOP/tools/gpreemptctl/main.c")
	all_there "functions of the library" $(sed -n 's/^	\(gpreempt_[a-z_]*\);$/\1/p' "$TOP/lib/libgpreempt.map")
	all_there "metrics" $(metrics)
	all_there "configuration of the OCI hook" --config $(sed -n 's/^#\([a-z]*\) .*/\1/p' "$TOP/dist/gpreempt-oci.conf")
	all_there "programs and pages" $(cd "$TOP/Documentation/man" && ls *.scd | sed 's/\.[0-9]\.scd$//' | grep -v '\.')
	all_there "options of Slurm's commands" --gpu-priority $(sed -n 's/.*\.name = "\(.*\)",/--\1/p' "$TOP/integrations/slurm/spank_gpreempt.c")
}

# It has to be able to miss something.
something_is_missed()
{
	[ -s "$scratch/words" ] || words >"$scratch/words"
	not all_there "things" gpreempt_enable gpreempt_no_such_thing >/dev/null
}

needs_promtool()
{
	[ -x "$promtool" ] || skip "promtool is not there: tools/testing/deps.sh"
}

# queries_hold NAME: series, a sample a minute, and what queries say of them are on stdin
queries_hold()
{
	{
		printf '%s\n' 'evaluation_interval: 1m' 'tests:' '  - interval: 1m'
		cat
	} >"$scratch/$1.yml"
	"$promtool" test rules "$scratch/$1.yml"
}

rules()
{
	needs_promtool
	"$promtool" check rules "$TOP/dist/prometheus-rules.yml"
	cat >"$scratch/rules-test.yml" <<-END
		rule_files: [ "$TOP/dist/prometheus-rules.yml" ]
		evaluation_interval: 1m
		tests:
		  - interval: 1m
		    input_series:
		      - { series: 'gpreempt_node_info{instance="a",gpu_id="1",state="failed"}', values: "1+0x30" }
		      - { series: 'gpreempt_node_info{instance="a",gpu_id="2",state="idle"}', values: "1+0x30" }
		      - { series: 'gpreempt_failures_total{instance="a",gpu_id="2",cause="timeout"}', values: "0+0x10 1+0x20" }
		      - { series: 'gpreempt_preempted_queues{instance="a",gpu_id="3"}', values: "1+0x30" }
		      - { series: 'gpreempt_resumes_total{instance="a",gpu_id="3"}', values: "5+0x30" }
		      - { series: 'gpreempt_checks_total{instance="a",gpu_id="3"}', values: "9+0x30" }
		      - { series: 'gpreempt_preempted_queues{instance="a",gpu_id="4"}', values: "1+0x30" }
		      - { series: 'gpreempt_resumes_total{instance="a",gpu_id="4"}', values: "5+1x30" }
		      - { series: 'gpreempt_checks_total{instance="a",gpu_id="4"}', values: "9+9x30" }
		    promql_expr_test:
		      - expr: count by (alertname, gpu_id) (ALERTS{alertstate="firing"})
		        eval_time: 15m
		        exp_samples:
		          - { labels: '{alertname="GpreemptNodeFailed", gpu_id="1"}', value: 1 }
		          - { labels: '{alertname="GpreemptFailures", gpu_id="2"}', value: 1 }
		          - { labels: '{alertname="GpreemptStuck", gpu_id="3"}', value: 1 }
		  - interval: 1m
		    input_series:
		      - { series: 'gpreempt_node_info{instance="a",gpu_id="1",state="off"}', values: "1+0x60" }
		      - { series: 'gpreempt_save_seconds_sum{instance="a",gpu_id="2"}', values: "0+10x60" }
		      - { series: 'gpreempt_resume_seconds_sum{instance="a",gpu_id="2"}', values: "0+5x60" }
		      - { series: 'gpreempt_save_seconds_sum{instance="a",gpu_id="3"}', values: "0+2x60" }
		      - { series: 'gpreempt_resume_seconds_sum{instance="a",gpu_id="3"}', values: "0+2x60" }
		      - { series: 'gpreempt_relief_slices_total{instance="a",gpu_id="4"}', values: "0+58x60" }
		      - { series: 'gpreempt_relief_slices_total{instance="a",gpu_id="5"}', values: "0+10x60" }
		      - { series: 'node_textfile_mtime_seconds{instance="a",file="/var/lib/prometheus/node-exporter/gpreempt.prom"}', values: "0+60x60" }
		      - { series: 'node_textfile_mtime_seconds{instance="b",file="gpreempt.prom"}', values: "0+60x40 2400+0x20" }
		      - { series: 'node_textfile_mtime_seconds{instance="b",file="apt.prom"}', values: "0+0x60" }
		    promql_expr_test:
		      - expr: count by (alertname, instance) (ALERTS{alertname="GpreemptMetricsOld"})
		        eval_time: 41m
		        exp_samples: []
		      - expr: count by (alertname, gpu_id) (ALERTS{alertstate="firing"})
		        eval_time: 50m
		        exp_samples:
		          - { labels: '{alertname="GpreemptMetricsOld"}', value: 1 }
		          - { labels: '{alertname="GpreemptNodeOff", gpu_id="1"}', value: 1 }
		          - { labels: '{alertname="GpreemptExcessive", gpu_id="2"}', value: 1 }
		          - { labels: '{alertname="GpreemptStarvation", gpu_id="4"}', value: 1 }
	END
	"$promtool" test rules "$scratch/rules-test.yml"
}

# queries_between FROM TO: the queries of Documentation/metrics.rst between two lines, each on one
queries_between()
{
	awk -v from="$1" -v to="$2" '$0 ~ from { on = 1 } $0 ~ to { on = 0 } on && /^    sum by/ { q = "" ; in_q = 1 }
		on && in_q && /^    / { q = q " " $0 } on && in_q && !/^    / { print q; in_q = 0 }' "$TOP/Documentation/metrics.rst" | tr -s ' '
}

# The queries of Documentation/metrics.rst, beside what AMD's exporter says of the same devices: its gpu_id is no gpu_id of ours.
joins()
{
	local ours='hostname="h",gpu_partition_id="0"' amd='card_model="102-G30211-0C",gpu_compute_partition_type="spx",gpu_partition_id="0",hostname="h"'
	local queries

	needs_promtool
	mapfile -t queries < <(queries_between '^Beside AMD' '^Alerts')
	is "queries" "${#queries[@]}" 2
	queries_hold joins <<-END
		    input_series:
		      - { series: 'gpreempt_preemptions_total{instance="a",gpu_id="51234"}', values: "0+60x30" }
		      - { series: 'gpreempt_preemptions_total{instance="a",gpu_id="999"}', values: "0+120x30" }
		      - { series: 'gpreempt_preempted_queues{instance="a",gpu_id="51234"}', values: "3+0x30" }
		      - { series: 'gpreempt_preempted_queues{instance="a",gpu_id="999"}', values: "5+0x30" }
		      - { series: 'gpreempt_device_info{instance="a",gpu_id="51234",gpu_uuid="u1",serial_number="s1",$ours}', values: "1+0x30" }
		      - { series: 'gpreempt_device_info{instance="a",gpu_id="999",gpu_uuid="u2",serial_number="s2",$ours}', values: "1+0x30" }
		      - { series: 'gpu_gfx_activity{instance="x",gpu_id="0",gpu_uuid="u2",serial_number="s2",$amd}', values: "10+0x30" }
		      - { series: 'gpu_gfx_activity{instance="x",gpu_id="1",gpu_uuid="u1",serial_number="s1",$amd}', values: "95+0x30" }
		    promql_expr_test:
		      - expr: '${queries[0]}'
		        eval_time: 20m
		        exp_samples:
		          - { labels: '{hostname="h",gpu_partition_id="0",serial_number="s1"}', value: 1 }
		      - expr: '${queries[1]}'
		        eval_time: 20m
		        exp_samples:
		          - { labels: '{instance="x",gpu_id="1",gpu_uuid="u1",serial_number="s1",$amd}', value: 3 }
		          - { labels: '{instance="x",gpu_id="0",gpu_uuid="u2",serial_number="s2",$amd}', value: 5 }
	END
}

# The query of Documentation/metrics.rst that finds a pod's name, beside what kube-state-metrics says of it
pods()
{
	local query labels='bdf="0000:c1:00.0",container_engine="containerd"'

	needs_promtool
	query=$(queries_between '^By job' '^Time used')
	queries_hold pods <<-END
		    input_series:
		      - { series: 'gpreempt_workload_queues{instance="a",gpu_id="1",state="preempted",pod_uid="u1",container_id="c1",$labels}', values: "2+0x9" }
		      - { series: 'gpreempt_workload_queues{instance="a",gpu_id="2",state="preempted",pod_uid="u1",container_id="c2",$labels}', values: "3+0x9" }
		      - { series: 'gpreempt_workload_queues{instance="a",gpu_id="1",state="active",pod_uid="u1",container_id="c1",$labels}', values: "9+0x9" }
		      - { series: 'gpreempt_workload_queues{instance="a",gpu_id="1",state="preempted",pod_uid="u2",container_id="c3",$labels}', values: "0+0x9" }
		      - { series: 'gpreempt_workload_queues{instance="a",gpu_id="1",state="preempted",pod_uid="",container_id="",slurm_job="7"}', values: "4+0x9" }
		      - { series: 'kube_pod_info{namespace="n",pod="train-0",uid="u1",node="a",instance="k"}', values: "1+0x9" }
		      - { series: 'kube_pod_info{namespace="n",pod="chat-0",uid="u2",node="a",instance="k"}', values: "1+0x9" }
		      - { series: 'kube_pod_info{namespace="n",pod="other",uid="u3",node="b",instance="k"}', values: "1+0x9" }
		    promql_expr_test:
		      - expr: '$query'
		        eval_time: 5m
		        exp_samples:
		          - { labels: '{namespace="n",pod="train-0"}', value: 5 }
		          - { labels: '{namespace="n",pod="chat-0"}', value: 0 }
	END
}

# The queries of Documentation/metrics.rst for time used: by pod, and by Slurm job, of which one has ended
used()
{
	local queries none='container_engine="",container_id=""'

	needs_promtool
	mapfile -t queries < <(queries_between '^Time used' '^Beside AMD')
	is "queries" "${#queries[@]}" 2
	queries_hold used <<-END
		    input_series:
		      - { series: 'gpreempt_cgroup_busy_seconds_total{instance="a",gpu_id="1",bdf="x",cgroup="11"}', values: "0+30x60" }
		      - { series: 'gpreempt_cgroup_busy_seconds_total{instance="a",gpu_id="2",bdf="y",cgroup="11"}', values: "0+60x60" }
		      - { series: 'gpreempt_cgroup_busy_seconds_total{instance="b",gpu_id="1",bdf="x",cgroup="11"}', values: "0+6x60" }
		      - { series: 'gpreempt_cgroup_busy_seconds_total{instance="a",gpu_id="1",bdf="x",cgroup="12"}', values: "0+60x60" }
		      - { series: 'gpreempt_cgroup_info{instance="a",cgroup="11",$none,pod_uid="u1",slurm_job="",slurm_step=""}', values: "1+0x60" }
		      - { series: 'gpreempt_cgroup_info{instance="b",cgroup="11",$none,pod_uid="",slurm_job="7",slurm_step="0"}', values: "1+0x60" }
		      - { series: 'gpreempt_cgroup_info{instance="a",cgroup="12",$none,pod_uid="",slurm_job="8",slurm_step="0"}', values: "1+0x30" }
		      - { series: 'kube_pod_info{namespace="n",pod="train-0",uid="u1",node="a",instance="k"}', values: "1+0x60" }
		    promql_expr_test:
		      - expr: '${queries[0]}'
		        eval_time: 60m
		        exp_samples:
		          - { labels: '{namespace="n",pod="train-0"}', value: 1.5 }
		      - expr: '${queries[1]}'
		        eval_time: 60m
		        exp_samples:
		          - { labels: '{slurm_job="7"}', value: 360 }
		          - { labels: '{slurm_job="8"}', value: 3600 }
	END
}

# query TITLE: that of the dashboard's panel, for all GPUs
query()
{
	python3 -c 'import json, sys
panel, = [p for p in json.load(open(sys.argv[1]))["panels"] if p["title"] == sys.argv[2]]
print(panel["targets"][0]["expr"].replace("$instance", ".*").replace("$bdf", ".*").replace("$__rate_interval", "5m"))' "$TOP/dist/grafana-dashboard.json" "$1"
}

# What the dashboard says of who waits and who is off
dashboard()
{
	local title none='container_engine="",container_id=""' gpu='bdf="0000:c1:00.0",device_name="gfx942"' job

	needs_promtool
	job="gpreempt_job=\"\",uid=\"1000\",$none,pod_uid=\"\",slurm_job=\"7\",slurm_step=\"0\""
	for title in "Who waits" "Who is off"; do
		grep -q "\"title\": \"$title\"" "$TOP/dist/grafana-dashboard.json" || { echo "no row $title"; return 1; }
	done
	queries_hold dashboard <<-END
		    input_series:
		      - { series: 'gpreempt_device_info{instance="a",gpu_id="51234",gpu_partition_id="0",$gpu}', values: "1+0x30" }
		      - { series: 'gpreempt_node_info{instance="a",gpu_id="51234",state="polling",backend="hws",policy="hpf"}', values: "1+0x30" }
		      - { series: 'gpreempt_node_waiting_seconds_total{instance="a",gpu_id="51234"}', values: "0+30x30" }
		      - { series: 'gpreempt_workload_queues{instance="a",gpu_id="51234",state="preempted",$job,$gpu}', values: "2+0x30" }
		      - { series: 'gpreempt_workload_queues{instance="a",gpu_id="51234",state="active",$job,$gpu}', values: "1+0x30" }
		      - { series: 'gpreempt_workload_queues{instance="b",gpu_id="51234",state="preempted",$job,$gpu}', values: "0+0x30" }
		      - { series: 'gpreempt_cgroup_waiting_seconds_total{instance="a",gpu_id="51234",bdf="0000:c1:00.0",cgroup="11"}', values: "0+30x30" }
		      - { series: 'gpreempt_cgroup_preempted_seconds_total{instance="a",gpu_id="51234",bdf="0000:c1:00.0",cgroup="11"}', values: "0+15x30" }
		      - { series: 'gpreempt_cgroup_info{instance="a",cgroup="11",$none,pod_uid="",slurm_job="7",slurm_step="0"}', values: "1+0x30" }
		    promql_expr_test:
		      - expr: '$(query "Work waits for a GPU: pods, containers and Slurm jobs")'
		        eval_time: 20m
		        exp_samples:
		          - { labels: '{instance="a",bdf="0000:c1:00.0",slurm_job="7"}', value: 0.5 }
		      - expr: '$(query "Work waits for a GPU: all of each")'
		        eval_time: 20m
		        exp_samples:
		          - { labels: '{instance="a",gpu_id="51234",gpu_partition_id="0",bdf="0000:c1:00.0"}', value: 0.5 }
		      - expr: '$(query "Queues off their GPU now")'
		        eval_time: 20m
		        exp_samples:
		          - { labels: '{instance="a",bdf="0000:c1:00.0",uid="1000",slurm_job="7",slurm_step="0"}', value: 2 }
		      - expr: '$(query "Time off a GPU: pods, containers and Slurm jobs")'
		        eval_time: 20m
		        exp_samples:
		          - { labels: '{instance="a",bdf="0000:c1:00.0",slurm_job="7"}', value: 0.25 }
		      - expr: '$(query "State of the nodes")'
		        eval_time: 20m
		        exp_samples:
		          - { labels: '{instance="a",gpu_id="51234",gpu_partition_id="0",$gpu,state="polling",backend="hws",policy="hpf"}', value: 1 }
	END
}

# No legend is a number that nobody knows: KFD's of a GPU.
legends()
{
	not grep -n '"legendFormat".*{{gpu_id}}' "$TOP/dist/grafana-dashboard.json"
	is "panels without a query for their GPU's name" "$(python3 -c 'import json, sys
for p in json.load(open(sys.argv[1]))["panels"]:
    for t in p.get("targets", []):
        if "bdf" not in t["expr"]:
            print(p["title"])' "$TOP/dist/grafana-dashboard.json")" ""
}

# Names in rules and dashboard, but for a label, without what Prometheus adds to summaries.
known_metrics()
{
	metrics >"$scratch/metrics"
	python3 -c 'import json, sys; assert len(json.load(open(sys.argv[1]))["panels"]) > 5' "$TOP/dist/grafana-dashboard.json"
	for f in prometheus-rules.yml grafana-dashboard.json; do
		grep -E '"?(expr|query)"?:' "$TOP/dist/$f" | grep -oE 'gpreempt_[a-z_]+' | grep -vx gpreempt_job | sed -E 's/_seconds_(sum|count)$/_seconds/' | sort -u >"$scratch/used"
		[ "$(wc -l <"$scratch/used")" -gt 5 ]
		is "unknown metrics in $f" "$(comm -23 "$scratch/used" "$scratch/metrics" | tr '\n' ' ')" ""
	done
}

plan 15
must "the documentation builds without a warning" builds
tap "pages made from sources are up to date" generated
tap "links lead somewhere, and a forge shows all that is on a page" pages_hold
tap "mistakes in pages would be seen" page_mistakes_are_seen
tap "the bench writes its tables into the page, with no bullet for a cell" tables_are_put
tap "a warning fails the build" warnings_count
tap "every parameter, tunable, file, ioctl, option, function and metric is named in it" everything_is_named
tap "something that is not would be missed" something_is_missed
tap "the alert rules are right, and fire when they should" rules
tap "queries that join with AMD's exporter find the same device there" joins
tap "the query for pods finds their names" pods
tap "the queries for time used find pods and Slurm jobs" used
tap "the dashboard says who waits and who is off" dashboard
tap "the dashboard calls GPUs by their PCI address" legends
tap "rules and dashboard use metrics that there are" known_metrics
finish
