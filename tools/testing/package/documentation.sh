#!/bin/bash
# SPDX-License-Identifier: MIT
#
# documentation.sh - the documentation builds without a warning, and its links lead somewhere; it names every tunable, file, command, option and metric; alert rules and
# dashboard speak of metrics that there are; every file says its licence
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

rules()
{
	[ -x "$promtool" ] || skip "promtool is not there: tools/testing/deps.sh"
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
		    promql_expr_test:
		      - expr: count by (alertname, gpu_id) (ALERTS{alertstate="firing"})
		        eval_time: 50m
		        exp_samples:
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

	[ -x "$promtool" ] || skip "promtool is not there: tools/testing/deps.sh"
	mapfile -t queries < <(queries_between '^Beside AMD' '^Alerts')
	is "queries" "${#queries[@]}" 2
	cat >"$scratch/joins.yml" <<-END
		evaluation_interval: 1m
		tests:
		  - interval: 1m
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
	"$promtool" test rules "$scratch/joins.yml"
}

# The query of Documentation/metrics.rst that finds a pod's name, beside what kube-state-metrics says of it
pods()
{
	local query labels='bdf="0000:c1:00.0",container_engine="containerd"'

	[ -x "$promtool" ] || skip "promtool is not there: tools/testing/deps.sh"
	query=$(queries_between '^By job' '^Time used')
	cat >"$scratch/pods.yml" <<-END
		evaluation_interval: 1m
		tests:
		  - interval: 1m
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
	"$promtool" test rules "$scratch/pods.yml"
}

# The queries of Documentation/metrics.rst for time used: by pod, and by Slurm job, of which one has ended
used()
{
	local queries none='container_engine="",container_id=""'

	[ -x "$promtool" ] || skip "promtool is not there: tools/testing/deps.sh"
	mapfile -t queries < <(queries_between '^Time used' '^Beside AMD')
	is "queries" "${#queries[@]}" 2
	cat >"$scratch/used.yml" <<-END
		evaluation_interval: 1m
		tests:
		  - interval: 1m
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
	"$promtool" test rules "$scratch/used.yml"
}

# Names in rules and dashboard, without what Prometheus adds to summaries.
known_metrics()
{
	metrics >"$scratch/metrics"
	python3 -c 'import json, sys; assert len(json.load(open(sys.argv[1]))["panels"]) > 5' "$TOP/dist/grafana-dashboard.json"
	for f in prometheus-rules.yml grafana-dashboard.json; do
		grep -E '"?(expr|query)"?:' "$TOP/dist/$f" | grep -oE 'gpreempt_[a-z_]+' | sed -E 's/_seconds_(sum|count)$/_seconds/' | sort -u >"$scratch/used"
		[ "$(wc -l <"$scratch/used")" -gt 5 ]
		is "unknown metrics in $f" "$(comm -23 "$scratch/used" "$scratch/metrics" | tr '\n' ' ')" ""
	done
}

licences()
{
	local name

	cd "$TOP"
	# Formats without comments, patches, samples, and pages of the front.
	git ls-files 2>/dev/null | grep -vE '\.(md|json|json\.in|table|scd|patch|pc\.in)$|^debian/|^LICENSES/|^\.|^Documentation/ABI/|\.conf$|\.(allow|config|kconfig)$' >"$scratch/files"
	[ -s "$scratch/files" ] || skip "no git"
	while read -r f; do
		[ ! -f "$f" ] || head -n 4 "$f" | grep -q 'SPDX-License-Identifier' || echo "$f"
	done <"$scratch/files" >"$scratch/without"
	is "files without a licence" "$(tr '\n' ' ' <"$scratch/without")" ""
	for name in $(xargs -d '\n' -a "$scratch/files" sed -n 's/.*SPDX-License-Identifier: *\([A-Za-z0-9.-]*\).*/\1/p' | sort -u); do
		[ -e "LICENSES/$name" ] || { echo "no LICENSES/$name"; return 1; }
	done
}

plan 14
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
tap "rules and dashboard use metrics that there are" known_metrics
tap "every file names a licence whose text is there" licences
finish
