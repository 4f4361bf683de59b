// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

// Actions of events: the stage of a reconciliation that an event is about. They are fields of Events
// and of notifications, with the names of helm-controller 1.7.
const (
	// EventActionReconcile is the reconciliation as a whole.
	EventActionReconcile string = "Reconcile"

	// EventActionCheckDependencies checks the objects of spec.dependsOn.
	EventActionCheckDependencies string = "CheckDependencies"

	// EventActionResolveSource reads the source and loads the chart.
	EventActionResolveSource string = "ResolveSource"

	// EventActionResolveValues composes the values.
	EventActionResolveValues string = "ResolveValues"

	// EventActionHealthCheck waits until the objects of a release are ready.
	EventActionHealthCheck string = "HealthCheck"

	// EventActionDriftDetection compares live objects with the release, and corrects them.
	EventActionDriftDetection string = "DriftDetection"

	// EventActionHelmInstall is an install by Helm, and so on.
	EventActionHelmInstall   string = "HelmInstall"
	EventActionHelmUpgrade   string = "HelmUpgrade"
	EventActionHelmRollback  string = "HelmRollback"
	EventActionHelmTest      string = "HelmTest"
	EventActionHelmUninstall string = "HelmUninstall"

	// EventActionUnlock marks a pending revision as failed.
	EventActionUnlock string = "Unlock"
)
