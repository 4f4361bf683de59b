// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	// releaseName is that of every HelmRelease, of its release and of all its objects.
	releaseName = "app"
	// actionTimeout is far more than an action takes.
	actionTimeout = 5 * time.Minute
)

// inputs are the values of a commit.
type inputs struct {
	Message string `json:"message"`
	Fails   string `json:"fails,omitempty"`
	Delay   string `json:"delay,omitempty"`
	// Policy is the deletion policy of all hooks; the chart's default if empty.
	Policy string `json:"policy,omitempty"`
	// Marker adds a ConfigMap that is named after the message.
	Marker bool `json:"marker,omitempty"`
}

func (in inputs) json() *apiextensionsv1.JSON {
	raw, _ := json.Marshal(in) // strings can be encoded
	return &apiextensionsv1.JSON{Raw: raw}
}

// action is an action of the controller on one release that faults are injected into.
type action struct {
	name string
	// configure changes the HelmRelease before it is created.
	configure func(*helmv2.HelmReleaseSpec)
	// installed is set if the release is installed before the action.
	installed bool
	// do triggers the action.
	do func(ctx context.Context, c client.Client, hr *helmv2.HelmRelease) error
	// want is the expected result.
	want want
	// own is the time that the action waits for reasons other than faults. It is not counted.
	own time.Duration
}

// logPatience is how long an Operation waits for logs, which a simulated node does not have.
const logPatience = 10 * time.Second

// installedOnce is the state of the release before most actions.
func installedOnce() want {
	return want{
		message: "one", messages: []string{"one"}, hooks: []hook{{"pre-install", "one"}, {"post-install", "one"}},
	}
}

// after adds runs of hooks to those of the install.
func after(more ...hook) []hook { return append(installedOnce().hooks, more...) }

// actions returns all actions.
func actions() []action {
	return []action{
		{name: "install", do: createRelease, want: installedOnce()},
		{name: "upgrade", installed: true, do: commitTwo(inputs{Message: "two"}), want: want{
			message: "two", messages: []string{"one", "two"}, hooks: after(hook{"pre-upgrade", "two"}, hook{"post-upgrade", "two"}),
		}},
		// The upgrade fails by a hook, and is rolled back.
		{name: "rollback", installed: true, configure: rollBack, do: commitTwo(inputs{Message: "two", Fails: "pre-upgrade"}), want: want{
			reason: helmv2.ReasonRollbackSucceeded, message: "one", messages: []string{"one", "two", "one"},
			hooks:    after(hook{"pre-upgrade", "two"}, hook{"pre-rollback", "one"}, hook{"post-rollback", "one"}),
			failures: 1, warnings: []string{helmv2.ReasonUpgradeFailed},
		}},
		{name: "uninstall", installed: true, do: deleteRelease, want: want{
			gone: true, messages: []string{"one"}, hooks: after(hook{"pre-delete", "one"}, hook{"post-delete", "one"}),
		}},
		{name: "drift", installed: true, configure: correct, do: tamper, want: want{
			message: "one", messages: []string{"one"}, hooks: after(), changes: 2,
		}},
		{name: "operation", installed: true, do: operate, own: logPatience, want: want{
			message: "one", messages: []string{"one"}, hooks: after(hook{operationHook, "one"}), operation: true,
		}},
	}
}

// helmRelease returns a HelmRelease of the chart, not created yet.
func helmRelease(namespace string, in inputs, configure func(*helmv2.HelmReleaseSpec)) *helmv2.HelmRelease {
	// All revisions are kept, so that they can be counted.
	history := 0
	hr := &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: releaseName},
		Spec: helmv2.HelmReleaseSpec{
			// The interval is long, so that it triggers no reconciliation.
			Interval: metav1.Duration{Duration: 10 * time.Hour}, Timeout: &metav1.Duration{Duration: actionTimeout},
			ChartRef:   &helmv2.CrossNamespaceSourceReference{Kind: helmv2.KindOCIRepository, Namespace: sourceNamespace, Name: chartName},
			MaxHistory: &history, Values: in.json(),
		},
	}
	if configure != nil {
		configure(&hr.Spec)
	}
	return hr
}

func rollBack(s *helmv2.HelmReleaseSpec) {
	strategy, last := helmv2.RemediationRollback, true
	s.Upgrade = &helmv2.Upgrade{Remediation: &helmv2.UpgradeRemediation{Strategy: strategy, RemediateLastFailure: &last}}
}

func correct(s *helmv2.HelmReleaseSpec) {
	s.DriftDetection = &helmv2.DriftDetection{Mode: helmv2.DriftDetectionEnabled}
}

func createRelease(ctx context.Context, c client.Client, hr *helmv2.HelmRelease) error {
	return c.Create(ctx, hr)
}

func deleteRelease(ctx context.Context, c client.Client, hr *helmv2.HelmRelease) error {
	return c.Delete(ctx, hr)
}

// commitTwo returns a function that sets other values of a release.
func commitTwo(in inputs) func(context.Context, client.Client, *helmv2.HelmRelease) error {
	return func(ctx context.Context, c client.Client, hr *helmv2.HelmRelease) error {
		return setInputs(ctx, c, hr, in)
	}
}

func setInputs(ctx context.Context, c client.Client, hr *helmv2.HelmRelease, in inputs) error {
	return patch(ctx, c, hr, map[string]any{"spec": map[string]any{"values": in}})
}

// suspend suspends a release that is no longer needed.
func suspend(ctx context.Context, c client.Client, hr *helmv2.HelmRelease) error {
	return client.IgnoreNotFound(patch(ctx, c, hr, map[string]any{"spec": map[string]any{"suspend": true}}))
}

// patch sends a merge patch.
func patch(ctx context.Context, c client.Client, o client.Object, change map[string]any) error {
	raw, err := json.Marshal(change)
	if err != nil {
		return err
	}
	if err := c.Patch(ctx, o, client.RawPatch(types.MergePatchType, raw)); err != nil {
		return fmt.Errorf("patch %T %s/%s: %w", o, o.GetNamespace(), o.GetName(), err)
	}
	return nil
}

// tamper changes an object of the release.
func tamper(ctx context.Context, c client.Client, hr *helmv2.HelmRelease) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: hr.Namespace, Name: releaseName}}
	return patch(ctx, c, object, map[string]any{"data": map[string]any{"message": "changed by hand"}})
}

// operate creates an Operation that runs a hook of the release.
func operate(ctx context.Context, c client.Client, hr *helmv2.HelmRelease) error {
	return c.Create(ctx, &opsv1alpha1.Operation{
		ObjectMeta: metav1.ObjectMeta{Namespace: hr.Namespace, Name: releaseName},
		Spec: opsv1alpha1.OperationSpec{
			TargetRef: opsv1alpha1.TargetReference{APIVersion: helmv2.GroupVersion.String(), Kind: helmv2.HelmReleaseKind, Name: hr.Name},
			Type:      opsv1alpha1.TypeMigration, Engine: opsv1alpha1.EngineHelmHookJob,
			Parameters: &opsv1alpha1.Parameters{HookName: releaseName + "-pre-upgrade"},
		},
	})
}
