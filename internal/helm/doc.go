// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package helm runs Helm's actions: one install, upgrade, rollback, test, recheck, unlock or
// uninstall at a time for a release. It decides nothing: the action is given, and its result is a
// release.Outcome.
//
// Its parts without knowledge of actions are packages of their own: storage reads and writes
// release records, and wait waits for objects.
//
// Files, from the outside to the inside:
//
//   - runner.go: Runner, Job, and the state of one job.
//   - install.go, upgrade.go, rollback.go, tests.go, uninstall.go, heal.go: the actions.
//   - history.go, health.go, objects.go, inventory.go, preserve.go, stored_hooks.go: reads of
//     stored revisions and their objects.
//   - target.go, target_objects.go: the check of a target before a move.
//   - render.go, sandboxed.go, capabilities.go, rerender.go, precheck.go: rendering of charts.
//   - apply.go: Helm's storage and client during an action. size.go: the limit for records.
//   - client.go, build.go, serverside.go, clientside.go, migrate.go, delete.go, wait.go, hooks.go:
//     objects in the cluster.
//   - preflight.go, looks.go, crds.go, namespace.go: requests before objects are applied.
//   - adopt.go, bearers.go, reservations.go: ownership of objects.
//   - retry.go, examine.go, logs.go, redact.go, denied.go: retries, diagnoses and texts.
package helm
