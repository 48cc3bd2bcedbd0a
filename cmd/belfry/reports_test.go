package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// keysOf are the keys of a JSON object, sorted.
func keysOf(t *testing.T, text string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), " ")
}

// The report of probe is a closed set of keys, and names all that an adapter may
// use.
func TestProbeReport(t *testing.T) {
	status, stdout, stderr := inProcess(t, "probe", "--json")
	if status != exitOK || stderr != "" {
		t.Fatalf("status %d, said %q", status, stderr)
	}
	if got := keysOf(t, stdout); got != "binary compatible exit_code_band mismatches probe_version schema_version surface version" {
		t.Errorf("keys %s", got)
	}
	var report compatibility
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatal(err)
	}
	if (report.Band != exitCodeBand{Start: 100, End: 119}) || !report.Compatible {
		t.Errorf("%+v", report)
	}
	for verb, flags := range map[string]string{
		"run": "jsonl run-id label cwd timeout idle-timeout grace snapshot-interval max-memory max-processes cpu-quota " +
			"capture-dir capture-max-bytes capture-overflow inherit-stdio no-echo inherit-stdin stdin-file detach argv-raw " +
			"env-clear env-remove env-file env run-id-env create-no-window windows-graceful-ctrl-break",
		"inspect": "run-id all label json", "cancel": "run-id all label", "kill": "run-id all label", "attest": "run-id json",
		"wait": "run-id all label timeout report-outcome", "events": "file run-id json validate follow",
		"list": "json label health", "prune": "dry-run json label",
		"probe":  "json print-schema require-schema-version require-exit-code-band require-surface",
		"doctor": "json timeout check-resource-controller scratch-child require-mechanism require-abrupt-cleanup require-resource-controller",
	} {
		if !slices.Contains(report.Surface, verb) {
			t.Errorf("no verb %s", verb)
		}
		_, help, _ := inProcess(t, verb, "--help")
		for _, flag := range append(strings.Fields(flags), "error-format") {
			if !slices.Contains(report.Surface, verb+":--"+flag) {
				t.Errorf("no token for --%s of %s", flag, verb)
			}
			if !strings.Contains(help, "--"+flag) {
				t.Errorf("the help of %s does not name --%s", verb, flag)
			}
		}
	}
}
