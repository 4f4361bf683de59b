// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestOutages: interrupted installs and upgrades, with crashes in between, are neither counted nor
// remediated, end deployed, and emit one event at the start and one at the end of each outage.
func TestOutages(t *testing.T) {
	t.Parallel()
	kinds := []string{"outage", "outage-refused", "outage-lost"}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 4))
		w := New()
		script := []string{"spec values=a max-history=0 remediate-last hooks"}
		for step := range 3 {
			script = append(script, fmt.Sprintf("spec values=%d", step))
			for range r.IntN(6) {
				script = append(script, "advance 1m", "reconcile helm="+kinds[r.IntN(len(kinds))])
				if r.IntN(4) == 0 {
					script = append(script, "die")
				}
			}
			for range maxReconciliations {
				script = append(script, "reconcile")
			}
		}
		var played strings.Builder
		interrupted := false
		for _, line := range script {
			if err := w.Do(line); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(script, "\n"))
			}
			output := w.Output()
			played.WriteString(line + "\n" + output)
			for said := range strings.SplitSeq(output, "\n") {
				switch began, event := strings.HasPrefix(said, "event=Warning/Interrupted"), strings.HasPrefix(said, "event="); {
				case began && interrupted:
					t.Fatalf("seed %d: an outage is two events:\n%s", seed, played.String())
				case event:
					interrupted = began
				}
			}
		}
		deployed := 0
		for _, revision := range w.current().revisions {
			if revision.Rollback || revision.Pending() || revision.Status == helmv2.StatusFailed {
				t.Errorf("seed %d: revision %d is %s, by a rollback: %t\n%s", seed, revision.Version, revision.Status, revision.Rollback, played.String())
			}
			if revision.Status == helmv2.StatusDeployed {
				deployed++
			}
		}
		if s := w.hr.Status; deployed != 1 || s.Failures+s.InstallFailures+s.UpgradeFailures != 0 || !w.Paused() || interrupted {
			t.Fatalf("seed %d: %d deployed, %d failures counted, the end is an event: %t\n%s", seed, deployed, s.Failures, !interrupted, played.String())
		}
	}
}
