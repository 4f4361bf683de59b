// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/dependency"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
)

// inputReader reads the inputs of a HelmRelease.
type inputReader struct {
	*environment
	resolver   resolver
	sources    *sourceMaker
	dependency *dependency.Subscriptions
	policies   policyReader
	// enqueue triggers a reconciliation of a HelmRelease. It must not block.
	enqueue func(types.NamespacedName)
}

// resolver resolves the inputs of a HelmRelease.
type resolver interface {
	Basics(hr *helmv2.HelmRelease, suspension release.Suspension) inputs.Want
	Resolve(ctx context.Context, hr *helmv2.HelmRelease, suspension release.Suspension) (inputs.Want, error)
	Secrets(ctx context.Context, hr *helmv2.HelmRelease) ([]string, error)
	FetchChart(ctx context.Context, hr *helmv2.HelmRelease, want inputs.Want) (inputs.Want, error)
}

// policyReader reads ReleasePolicies.
type policyReader interface {
	// Demands returns what policies demand of a HelmRelease, apart from its chart.
	Demands(ctx context.Context, hr *helmv2.HelmRelease) policy.Demands
	// Admit returns an *inputs.Refused if a policy refuses the chart of a source.
	Admit(ctx context.Context, hr *helmv2.HelmRelease, source client.Object) error
}

// read returns rec with the inputs of the HelmRelease. While an action runs, errors are ignored:
// newer inputs may replace the inputs of the action, as far as they are known. A release that is
// held needs no inputs. A release whose chart or values are refused keeps the inputs of its newest revision.
func (i *inputReader) read(ctx context.Context, rec reconciliation) (reconciliation, error) {
	rec, err := i.resolve(ctx, rec)
	var unresolved *release.Blocked
	needless := rec.want.Hold.Active || rec.want.Suspension.Active
	held := needless && errors.As(err, &unresolved) && (unresolved.Upstream || !controller.IsTransient(err))
	if err != nil && rec.running == nil && !held {
		return rec, err
	}
	rec.in = release.Input{Desired: rec.want.Desired, Recorded: rec.hr.Status, Now: i.now()}
	rec.in.Observed.Running = rec.running
	switch refusal := rec.want.Demands.Refusal; {
	case held:
		rec.in.Observed.Unresolved = unresolved.Message
	case refusal != nil && !refusal.ChangesOnly:
		rec.in.Observed.Unresolved = (&inputs.Refused{Refusal: *refusal}).Error()
	}
	return rec, nil
}

// resolve returns rec with the inputs of the HelmRelease, and what policies demand of it.
func (i *inputReader) resolve(ctx context.Context, rec reconciliation) (reconciliation, error) {
	demands := i.policies.Demands(ctx, rec.hr)
	rec, err := i.resolveSpec(ctx, rec)
	if refused, is := errors.AsType[*inputs.Refused](err); is {
		demands.Refusal, err = &refused.Refusal, nil
		rec.want.Desired = rec.want.KeepInputs(rec.hr.Status, rec.running)
	} else {
		demands.Refusal = rec.want.Demands.Refusal
	}
	rec.want.Demands = demands
	if demands.ByValues() && rec.want.Contents != nil {
		rec.want.ValuesFrom = rec.want.Contents()
	}
	return rec, err
}

// resolveSpec returns rec with the inputs of the HelmRelease. It applies the source of spec.chart,
// unless a policy refuses the chart: source-controller would fetch it.
func (i *inputReader) resolveSpec(ctx context.Context, rec reconciliation) (reconciliation, error) {
	suspension := release.SuspensionOf(rec.hr.Spec.Suspend, rec.hr.Annotations, i.now())
	hold := release.HoldOf(rec.hr.Annotations, i.now())
	var unmade, err error
	made := rec.hr.DeletionTimestamp.IsZero() && (!suspension.Active || release.RequestsOf(rec.hr.Annotations).PlanRequested())
	if made {
		rec, unmade = i.ensureSource(ctx, rec)
		made = unmade == nil
	}
	_, refused := errors.AsType[*inputs.Refused](unmade)
	switch {
	case refused:
		rec.want = i.resolver.Basics(rec.hr, suspension)
	case unmade != nil && !hold.Active:
		return rec, unmade
	default:
		rec.want, err = i.resolver.Resolve(ctx, rec.hr, suspension)
		i.recordFiles(rec, err)
	}
	if made && err == nil {
		rec, err = i.deleteFormerSource(ctx, rec)
	}
	if !rec.want.Deleted {
		rec.want.Hold = hold
		rec.want.Desired = rec.want.InPlace(rec.hr.Status)
	}
	if unmade != nil {
		return rec, unmade
	}
	// Also while an action runs: the inputs that are being downloaded may replace its own.
	i.awaitDownload(rec.key(), inputs.DownloadEnded(err))
	i.dependency.Await(rec.key(), err)
	return rec, err
}

// recordFiles records the files that the values come from, so that another revision of their source
// triggers a reconciliation only if they differ in it.
func (i *inputReader) recordFiles(rec reconciliation, err error) {
	sources := inputs.FileSources(rec.hr)
	record := func(m *memory) {
		m.files.used, m.files.known = rec.want.Files, err == nil && len(rec.want.Files) == len(sources)
	}
	if len(sources) == 0 {
		i.memory.Update(rec.key(), record)
		return
	}
	i.memory.With(rec.key(), record)
}

// ensureSource makes the source of spec.chart, if policies allow it.
func (i *inputReader) ensureSource(ctx context.Context, rec reconciliation) (reconciliation, error) {
	if err := inputs.CheckName(rec.hr); err != nil {
		return rec, err
	}
	if err := inputs.CheckTemplate(rec.hr); err != nil {
		return rec, err
	}
	if rec.hr.HasChartTemplate() {
		err := i.policies.Admit(ctx, rec.hr, inputs.TemplateSource(rec.hr))
		if refused, is := errors.AsType[*inputs.Refused](err); err != nil && (!is || !refused.ChangesOnly) {
			return rec, err
		}
	}
	hadSource := rec.hr.Status.HelmChart != ""
	recorded, err := i.sources.Ensure(ctx, rec.hr)
	if rec = rec.withHelmChart(recorded); !hadSource && isHelmChart(rec.hr) {
		// The digest belongs to another source, such as the source in spec.chartRef.
		rec = rec.withoutDigest()
	}
	return rec, err
}

// isHelmChart reports whether spec.chart stands for a HelmChart.
func isHelmChart(hr *helmv2.HelmRelease) bool {
	return hr.HasChartTemplate() && hr.Spec.Chart.GetKind() == helmv2.KindHelmChart
}

// deleteFormerSource deletes the source of the other kind after the kind of spec.chart has changed. If the
// chart is another one, status must not have the former digest when the former source is gone: with
// that digest, the chart would count as the same.
func (i *inputReader) deleteFormerSource(ctx context.Context, rec reconciliation) (reconciliation, error) {
	if isHelmChart(rec.hr) && rec.want.Chart.OCIDigest == "" && rec.hr.Status.LastAttemptedRevisionDigest != "" {
		return rec.withoutDigest(), nil
	}
	recorded, err := i.sources.DeleteFormer(ctx, rec.hr)
	return rec.withHelmChart(recorded), err
}

// withChart returns want with the chart that an action needs, or an error while it is being
// downloaded. An action must not wait for a download: it would occupy its slot.
func (i *inputReader) withChart(ctx context.Context, hr *helmv2.HelmRelease, want inputs.Want, a release.HelmAction) (inputs.Want, error) {
	switch a.(type) {
	case release.Install, release.Upgrade:
	case release.Test, release.Rollback, release.Uninstall, release.Unlock, release.Recheck, release.FailBake, release.CorrectDrift:
		return want, nil
	}
	want, err := i.resolver.FetchChart(ctx, hr, want)
	i.awaitDownload(client.ObjectKeyFromObject(hr), inputs.DownloadEnded(err))
	return want, err
}

// secrets returns the texts that an action must redact. The values of a release that is held may not
// have been read.
func (i *inputReader) secrets(ctx context.Context, rec reconciliation) ([]string, error) {
	if rec.in.Observed.Unresolved == "" {
		return rec.want.Secrets, nil
	}
	return i.resolver.Secrets(ctx, rec.hr)
}

// awaitDownload triggers one reconciliation when ended is closed, unless the HelmRelease waits for
// another download by then. A nil channel is not waited for.
func (i *inputReader) awaitDownload(key types.NamespacedName, ended <-chan struct{}) {
	if ended == nil {
		return
	}
	started := false
	i.memory.With(key, func(m *memory) {
		started = m.download != ended
		m.download = ended
	})
	if !started {
		return
	}
	go func() {
		<-ended
		waited := false
		i.memory.Update(key, func(m *memory) {
			if waited = m.download == ended; waited {
				m.download = nil
			}
		})
		if waited {
			i.enqueue(key)
		}
	}()
}
