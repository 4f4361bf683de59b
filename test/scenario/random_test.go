// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// maxReconciliations is the largest number of reconciliations in a row with immediate work. More
// are a livelock: the longest regular sequence is finish, recover, unlock, upgrade, recheck.
const maxReconciliations = 8

// lines returns the lines from which random lives are made. Uses of the Helm CLI are rare, because
// they prevent other states.
func lines() []string {
	return []string{
		"reconcile", "reconcile", "reconcile", "reconcile", "reconcile",
		`reconcile helm=fail:"it failed"`, `reconcile helm=fail:"it failed again"`, `reconcile helm=refuse:"it was refused"`,
		`reconcile helm=deny:"it was denied"`, `reconcile helm=deny:"it was denied" die=record`, "policy refuses-denials",
		"reconcile helm=large:90", "reconcile helm=large:120", "reconcile helm=running", "reconcile helm=running",
		"reconcile die=announce", "reconcile die=begin", "reconcile die=run", "reconcile die=record", "reconcile die=events",
		"reconcile helm=outage", "reconcile helm=outage-refused", "reconcile helm=outage-lost", "end helm=outage", "shutdown recorded",
		"spec hooks", "reconcile die=pre-hook", "reconcile die=wait", "reconcile die=post-hook", "reaches pre-hook", "reaches objects", "reaches wait", "reaches post-hook",
		"other resumes", "other ends",
		`reconcile helm=fail:"it failed" die=record`,
		"end", `end helm=fail:"it failed"`, "die", "cancel", "shutdown",
		"spec values=a", "spec values=b", "spec chart=web@1.1.0", "spec chart=web@2.0.0", "spec retries=2", "spec retries=0",
		"spec keep-history", "spec replace", "spec max-history=2",
		"spec tests chart-tests", "spec no-tests", "spec ignore-tests", "spec remediate-last", "spec no-remediate-last",
		"spec uninstall", "spec no-uninstall", "spec retry", "spec no-retry", "spec post-hooks", "spec post-renderers=a", "spec post-renderers=b",
		"spec namespace=other", "spec namespace=apps", "spec release=renamed", "spec release=web", "spec storage=other", "spec chart=site@1.0.0",
		`reconcile helm=timeout:"timed out"`, `reconcile helm=timeout:"timed out again"`, "objects broken", "objects ready", "applied",
		"spec drift=enabled", "spec drift=warn", "spec drift=disabled", "live changed", "live changed replicas=4", "live removed", "live removed changed again-and-again",
		"live changed again-and-again", "live scaled", "live unreadable", "live as-released", "live as-released",
		"conflict older", "conflict younger", "conflict older in=others recorded=1", "conflict gone",
		`target refused "namespace other does not exist"`, "target taken", "target free", "target free",
		`policy freeze="incident"`, "policy opens=2026-01-01T12:05:00Z", "policy opens=2026-03-01T12:00:00Z free", `policy refuses "1.x is a range"`, `policy unavailable "forbidden"`, "policy gone", "policy gone", "policy gone",
		"approval Always", "approval Always free", "approval Destructive", "approval Never", "protect PersistentVolumeClaim", "policy gone",
		`changes "Update Deployment/web"`, `changes "Delete PersistentVolumeClaim/data"`, `changes "Refused StatefulSet/db"`,
		"approve", "approve", "approve", "approve other", "approve replace=StatefulSet/db", `approve replace=StatefulSet/db void="no admission policy"`, "reject", "override", "override", `override void="no admission policy"`, "annotate plan=one", "annotate plan=two", "annotate plan",
		"operation locks", "operation waits", "operation ends", "operation ends",
		"annotate rollback-to=1", "annotate rollback-to=2 rollback-until=2026-01-01T12:10:00Z", "annotate rollback-to=9", "annotate rollback-to", "annotate rollback-to",
		"annotate test-at=one", "annotate test-at=two", "annotate test-at",
		"annotate suspend=incident", "annotate suspend=incident suspend-until=2026-01-01T12:05:00Z", "annotate suspend", "cli tamper 1",
		"suspend", "resume", "resume", "delete", "request now",
		"request one force", "request two force", "request three force reset", "request two", "request one reset", "request four force=one",
		`blocked ValuesError "not a map"`, `blocked UnsupportedField "no such thing" terminal`, "unblocked", "unblocked",
		"advance 1m", "advance 10m",
		"cli upgrade chart=web@9.0.0 values=cli", "cli uninstall", "cli uninstall keep-history", "cli install values=cli",
		"cli status superseded", "cli status uninstalling", "cli status pending-upgrade", "cli status unknown",
	}
}

// forgeries returns lines of an attacker who may write Secrets only.
func forgeries() []string {
	var all []string
	for version := 1; version <= 4; version++ {
		for _, line := range []string{
			"record %d pending-upgrade", "record %d pending-rollback", "record %d deployed", "record %d superseded", "record %d uninstalling", "record %d failed",
			"content %d", "content %d status=superseded", "labels %d interrupted", "labels %d applied", "labels %d rolled-back-to=1", "labels %d other",
			"save %d", "save %d", "restore %d", "restore %d", "restore %d", "drop %d",
		} {
			all = append(all, "forge "+fmt.Sprintf(line, version))
		}
	}
	return append(all, "forge unseal", "forge record 1 pending-install", "forge record 6 deployed", "forge record 7 uninstalled", "forge record 8 unknown")
}

// life plays lines that bytes select, then reconciles and checks that the HelmRelease stops
// requeueing immediately.
func life(bytes []byte) (script []string, err error) { return play(lines(), bytes) }

// play is life with other lines.
func play(all []string, bytes []byte) (script []string, err error) {
	w := New()
	do := func(line string) error {
		script = append(script, line)
		return w.Do(line)
	}
	for _, b := range bytes {
		line := all[int(b)%len(all)]
		verb, _, _ := strings.Cut(line, " ")
		switch {
		case (verb == "end" || verb == "cancel" || verb == "shutdown" || verb == "reaches") && w.running == nil,
			verb == "cli" && w.running != nil,
			(verb == "approve" || verb == "reject" || verb == "override") && w.plan == nil,
			verb == "die" && w.gone:
			continue
		}
		if err := do(line); err != nil && verb != "cli" {
			return script, err
		}
	}
	if w.running != nil {
		if err := do("end"); err != nil {
			return script, err
		}
	}
	if w.ended != nil {
		if err := do("reconcile"); err != nil {
			return script, err
		}
	}
	for range maxReconciliations {
		if err := do("reconcile"); err != nil {
			return script, err
		}
		if delay, _ := w.Retry().Delay(); w.Paused() || w.Retry().IsBackoff() || delay > 0 {
			return script, checkEnd(w)
		}
	}
	return script, fmt.Errorf("immediate requeue after %d reconciliations: %s", maxReconciliations, w.Output())
}

// checkEnd checks the final state of a HelmRelease.
func checkEnd(w *World) error {
	if w.attacked {
		// An attacker can delete records, or keep a revision pending.
		return nil
	}
	deployed := 0
	// A policy can hold the uninstall of a release whose revision is pending.
	held := !w.hr.DeletionTimestamp.IsZero() && !reflect.ValueOf(w.demands).IsZero()
	for _, r := range w.current().revisions {
		if !r.Deleted.IsZero() {
			// Helm does not change older revisions if it uninstalls and keeps the history.
			deployed = 0
		}
		if r.Status == helmv2.StatusDeployed && r.Owner == uid {
			deployed++
		}
		if r.Pending() && w.current().read(r).Sealed && !w.gone && !w.desired().Suspension.Active && w.blocked == nil && w.lockHolder == nil && !held {
			return fmt.Errorf("revision %d of ours is pending for ever", r.Version)
		}
	}
	// Helm leaves two if a user installs over a failed revision.
	if deployed > 1 && !w.installedByCLI {
		return fmt.Errorf("%d revisions of ours are deployed", deployed)
	}
	if !w.gone && !w.desired().Suspension.Active && w.blocked == nil && w.lockHolder == nil && reflect.ValueOf(w.demands).IsZero() {
		if err := w.leftBehind(); err != nil {
			return err
		}
	}
	in, err := release.Observe(w.input(w.desired()), observation{w, w.desired()}.read)
	if err != nil && w.hr.DeletionTimestamp.IsZero() {
		return err
	}
	newest, d := in.Observed.Newest(), release.Decide(in)
	if d.Rule == release.RuleRolledBack && !d.Acts() && d.State == release.StateRolledBack && newest.Version != in.Desired.Hold.To && newest.RolledBackTo != in.Desired.Hold.To {
		return fmt.Errorf("held at revision %d by %+v", in.Desired.Hold.To, newest)
	}
	if d.Rule == release.RuleInSync && (newest.ChartVersion != w.want.Chart.Version || newest.ConfigDigest != w.want.ConfigDigest) {
		return fmt.Errorf("in sync with %s and %s: %+v", w.want.Chart.Version, w.want.ConfigDigest, newest)
	}
	return nil
}

// FuzzLife: a HelmRelease reaches a valid final state after lines that the fuzzer selects.
func FuzzLife(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("reconcile helm=ok"))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if len(bytes) > 200 {
			return
		}
		if script, err := life(bytes); err != nil {
			t.Fatalf("%v\n%s", err, strings.Join(script, "\n"))
		}
	})
}

// TestRandomLives: a HelmRelease reaches a valid final state after random lines.
func TestRandomLives(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		bytes := make([]byte, r.IntN(40))
		for i := range bytes {
			bytes[i] = byte(r.UintN(256))
		}
		if script, err := life(bytes); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(script, "\n"))
		}
	}
}

// TestForgedLives: whatever records, labels and annotations an attacker writes between the steps of a
// life, nothing is applied, adopted, rolled back to or run as a hook that the attacker wrote, no
// action is resumed that has ended, nothing is uninstalled because of a record, and no freeze or
// approval is passed. The checks are those of World; see checkProven and checkApproved. PINTLE_LIVES=100000
// plays more of them.
func TestForgedLives(t *testing.T) {
	const shards = 8
	lives := uint64(10_000)
	if testing.Short() {
		lives = 400
	}
	if text := os.Getenv("PINTLE_LIVES"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		lives = n
	}
	regular, forged := lines(), forgeries()
	for shard := range uint64(shards) {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			for seed := shard; seed < lives; seed += shards {
				r := rand.New(rand.NewPCG(seed, 7))
				all, bytes := make([]string, r.IntN(30)), make([]byte, 0, 30)
				for i := range all {
					from := regular
					if r.IntN(3) == 0 {
						from = forged
					}
					all[i], bytes = from[r.IntN(len(from))], append(bytes, byte(i))
				}
				if script, err := play(all, bytes); err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(script, "\n"))
				}
			}
		})
	}
}

// TestCrashes: after crashes at random steps the release is deployed, with one revision for each
// change, whose hooks have run once, and no counted failure.
func TestCrashes(t *testing.T) {
	kinds := []string{"announce", "begin", "run", "pre-hook", "objects", "wait", "post-hook", "record", "events"}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := New()
		script := []string{"spec values=a max-history=0 hooks"}
		for step := range 3 {
			for range r.IntN(8) {
				script = append(script, "reconcile die="+kinds[r.IntN(len(kinds))])
			}
			if step < 2 {
				script = append(script, "reconcile", "reconcile", "reconcile", "reconcile", fmt.Sprintf("spec values=%d", step))
			}
		}
		for range maxReconciliations {
			script = append(script, "reconcile")
		}
		for _, line := range script {
			if err := w.Do(line); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(script, "\n"))
			}
		}
		var states []string
		for _, revision := range w.current().revisions {
			states = append(states, string(revision.Status))
		}
		hooks := len(w.current().ran.finished)
		if got := strings.Join(states, " "); got != "superseded superseded deployed" || hooks != 6 || w.hr.Status.Failures != 0 || !w.Paused() {
			t.Fatalf("seed %d: revisions are %s, %d hooks have run, %d failures counted\n%s\n%s",
				seed, got, hooks, w.hr.Status.Failures, strings.Join(script, "\n"), w.Output())
		}
	}
}

// TestCrashesWhileHeld: after crashes at random steps of rollbacks by annotation, there is one
// revision for each annotation, whose hooks have run once, and the newest one is that of the last
// annotation.
func TestCrashesWhileHeld(t *testing.T) {
	kinds := []string{"announce", "begin", "run", "pre-hook", "objects", "wait", "post-hook", "record", "events"}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 5))
		w := New()
		script := []string{"spec values=a max-history=0 hooks", "reconcile", "spec values=b", "reconcile", "spec values=c", "reconcile", "reconcile"}
		for step := range 3 {
			script = append(script, fmt.Sprintf("annotate rollback-to=%d", 1+step%2))
			for range r.IntN(8) {
				script = append(script, "reconcile die="+kinds[r.IntN(len(kinds))])
				if r.IntN(3) == 0 {
					script = append(script, fmt.Sprintf("spec values=%d", r.IntN(3)))
				}
			}
			for range maxReconciliations {
				script = append(script, "reconcile")
			}
		}
		for _, line := range script {
			if err := w.Do(line); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(script, "\n"))
			}
		}
		made := w.current().revisions
		if newest := w.current().newest(); len(made) != 6 || newest.RolledBackTo != 1 || newest.Status != helmv2.StatusDeployed || !w.Paused() {
			t.Fatalf("seed %d: %d revisions, the newest is %+v\n%s\n%s", seed, len(made), newest, strings.Join(script, "\n"), w.Output())
		}
	}
}

// TestTokensRunOnce: no token of requested tests has two runs, despite crashes at random steps.
func TestTokensRunOnce(t *testing.T) {
	kinds := []string{"announce", "begin", "run", "post-hook", "record", "events"}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 6))
		w := New()
		script := []string{"spec values=a chart-tests hooks", "reconcile", "reconcile"}
		for i := range 4 {
			script = append(script, fmt.Sprintf("annotate test-at=%d", i))
			for range r.IntN(4) {
				script = append(script, "reconcile die="+kinds[r.IntN(len(kinds))])
			}
			script = append(script, "reconcile", "reconcile")
		}
		var played strings.Builder
		for _, line := range script {
			if err := w.Do(line); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(script, "\n"))
			}
			played.WriteString(line + "\n" + w.Output())
		}
		if runs := strings.Count(played.String(), "rule=TestRequested"); runs != 4 || len(w.current().revisions) != 1 {
			t.Fatalf("seed %d: %d runs of 4 requests, %d revisions\n%s", seed, runs, len(w.current().revisions), played.String())
		}
	}
}

// TestCrashesWhileForcing: each force request leads to exactly one revision, despite crashes.
func TestCrashesWhileForcing(t *testing.T) {
	kinds := []string{"announce", "begin", "run", "post-hook", "record", "events"}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		w := New()
		script := []string{"spec values=a max-history=0 hooks", "reconcile", "reconcile"}
		requests := 1 + r.IntN(3)
		for i := range requests {
			script = append(script, fmt.Sprintf("request %d force", i))
			for range r.IntN(6) {
				script = append(script, "reconcile die="+kinds[r.IntN(len(kinds))])
			}
			for range maxReconciliations {
				script = append(script, "reconcile")
			}
		}
		for _, line := range script {
			if err := w.Do(line); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(script, "\n"))
			}
		}
		made := len(w.current().revisions)
		last := fmt.Sprint(requests - 1)
		if s := w.hr.Status; made != 1+requests || !w.Paused() || s.LastHandledForceAt != last || s.LastHandledReconcileAt != last {
			t.Fatalf("seed %d: %d revisions for %d requests, the last handled %q, %q\n%s\n%s", seed, made-1, requests,
				s.LastHandledForceAt, s.LastHandledReconcileAt, strings.Join(script, "\n"), w.Output())
		}
	}
}
