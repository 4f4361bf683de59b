// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package status builds the status and the events that a reconciliation ends with. Only this package
// builds conditions.
//
// It is pure, and decides nothing: the decision or the outcome of an action is an argument. It
// does not derive the state of a release from conditions; readback.go has the four exceptions.
//
//	operation.go    Operation: the status, conditions and events of Operations
//	attempt.go      Started and Finished: actions; outcomes of install, upgrade, uninstall
//	report.go       Blocked and Settled: reconciliations that run no action
//	gate.go         actions that a policy holds, and the conditions of plans
//	remediation.go  outcomes of rollback, uninstall remediation and recheck
//	hold.go         condition RolledBack: holds, and outcomes of their rollbacks
//	helmchart.go    HelmChart: the status and events of HelmCharts of k3s
//	tests.go        outcomes of Helm tests, and condition TestSuccess
//	size.go         records that exceed the size limit of Helm's storage
//	drift.go        condition Drifted, and outcomes of drift correction
//	interrupted.go  outcomes of actions that a shutdown or an outage interrupted
//	suspension.go   condition Suspended
//	readback.go     messages that are read again
//	conditions.go   Report, and the conditions and fields of one status while it is built
//	history.go      snapshots of revisions, and the inventory
//	messages.go     messages about actions
//	events.go       Event, its annotations, failure causes and logs
package status
