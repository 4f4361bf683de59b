// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	helmpostrender "helm.sh/helm/v3/pkg/postrender"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	helmstorage "helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
)

// Rerender renders the chart of a job as it was rendered for a stored revision,
// and compares the manifests. The revision must have been made of the same chart
// and values; job.Action is not looked at. Nothing is written to the cluster, and
// nothing at all is done, not even asked, for a chart that does not read the
// cluster.
//
// The chart is rendered a second time, as if at another time, only if its manifest
// has changed: that the manifest is the same says enough. So a chart whose manifest
// is random, but still as it was stored, is not found to be Unstable.
//
// It is an error if the chart cannot be rendered any more, and if the manifest is
// another while the server could not tell everything that it offers: what depends
// on that would be taken away.
func (r *Runner) Rerender(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, version int) (release.RenderResult, error) {
	redact := newRedactor(job.Secrets)
	reads, err := r.charts.Reads(ctx, job.Artifact)
	if err != nil {
		return release.RenderResult{}, redact.error(fmt.Errorf("could not load chart: %w", err))
	}
	if !reads.Any() {
		return release.RenderResult{}, nil
	}
	result, err := r.rerender(ctx, getter, job, version, reads)
	return result, redact.error(inLine(err))
}

func (r *Runner) rerender(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, version int, reads chart.ClusterReads) (release.RenderResult, error) {
	result := release.RenderResult{Reads: true, Lookup: reads.Lookup}
	now, err := r.offerOf(getter)
	if err != nil {
		return result, err
	}
	result.Capabilities = now.digest
	store, err := r.storage.Open(ctx, getter, job.Desired.Target, storage.Options{ReadCache: true})
	if err != nil {
		return result, err
	}
	again := &rerun{run: run{charts: r.charts, large: r.large}, getter: getter, offer: now}
	if again.made, err = makingOf(store, job.Desired.Target.Name, version); err != nil {
		return result, err
	}
	stored := again.made.stored.Manifest
	manifest, err := again.render(ctx, job, false)
	if err != nil || alike(stored, manifest) {
		return result, err
	}
	if now.incomplete != nil && reads.Capabilities {
		return result, fmt.Errorf("the chart renders to another manifest than that of revision %d, but the API server could not tell all that it offers: %w", version, now.incomplete)
	}
	other, err := again.render(ctx, job, true)
	if err != nil {
		return result, err
	}
	result.Unstable = !alike(manifest, other)
	result.Changed = !result.Unstable
	return result, nil
}

// making is how a stored revision came to its manifest.
type making struct {
	stored *helmrelease.Release
	// install is true if it was rendered by an install, false if by an upgrade.
	install bool
	// revision is the number that an upgrade had in templates. An install always has
	// 1 there, even if its revision has not.
	revision int
}

// makingOf returns how a revision was rendered. What a rollback made was rendered
// for the revision it returned to, which may be gone; the first is taken for an
// install then, and the others for upgrades.
func makingOf(store *storage.Driver, name string, version int) (making, error) {
	rls, err := store.Revision(version)
	if err != nil {
		return making{}, fmt.Errorf("revision %d of release %s: %w", version, name, err)
	}
	made := making{stored: rls, revision: version}
	for from := rls; ; {
		if how := actionOf(from); how != helmv2.ActionRollback {
			made.install = how == helmv2.ActionInstall
			return made, nil
		}
		made.revision = returnedTo(from)
		if made.revision == 0 {
			return making{}, fmt.Errorf("revision %d of release %s was made by a rollback, and it is not known to which revision", from.Version, name)
		}
		from, err = store.Revision(made.revision)
		if errors.Is(err, driver.ErrReleaseNotFound) {
			made.install = made.revision == 1
			return made, nil
		}
		if err != nil {
			return making{}, fmt.Errorf("revision %d of release %s: %w", made.revision, name, err)
		}
	}
}

// returnedTo returns the revision that a rollback returned to, 0 if nothing tells.
func returnedTo(rls *helmrelease.Release) int {
	said, _ := strings.CutPrefix(rls.Info.Description, "Rollback to ")
	version, err := strconv.Atoi(said)
	if err != nil || version < 1 || version >= rls.Version {
		return 0
	}
	return version
}

// rerun renders what was rendered before.
type rerun struct {
	run

	getter action.RESTClientGetter
	offer  offer
	made   making
}

// render returns the manifest that Helm would store now. It lets Helm do it, which
// cannot render a revision alone: it is told that nothing is to be written, stores
// in memory, and finds no objects in manifests. All else is as it was.
func (r *rerun) render(ctx context.Context, job Job, atAnotherTime bool) (manifest string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("rendering panicked: %v", p)
			logr.FromContextOrDiscard(ctx).Error(newRedactor(job.Secrets).error(err), "Helm panicked", "stack", string(debug.Stack()))
		}
	}()
	c, err := r.load(ctx, job)
	if err != nil {
		return "", err
	}
	if atAnotherTime {
		chart.ShiftTime(c)
	}
	// Helm changes them.
	rls, err := r.release(ctx, job, c, cloned(job.Values), rerenderTimeout)
	if err != nil {
		return "", err
	}
	return rls.Manifest, nil
}

// release returns the revision that Helm would make of a chart, which is the caller's
// again then, and of values, which are Helm's.
func (r *rerun) release(ctx context.Context, job Job, c *helmchart.Chart, values map[string]any, timeout time.Duration) (*helmrelease.Release, error) {
	renderer, err := r.postRenderer(job)
	if err != nil {
		return nil, err
	}
	memory := driver.NewMemory()
	memory.SetNamespace(r.made.stored.Namespace)
	r.config = &action.Configuration{
		RESTClientGetter: r.getter, Releases: helmstorage.Init(memory), Capabilities: r.offer.capabilities,
		KubeClient: &kubefake.PrintingKubeClient{Out: io.Discard}, Log: func(string, ...any) {},
	}
	var rls *helmrelease.Release
	err = r.sandboxed(ctx, job, c, timeout, r.skipsSchemas(job), func() (err error) {
		if r.made.install {
			rls, err = r.installing(job.Spec.Install, job, renderer).Run(c, values)
		} else {
			rls, err = r.upgrading(job, renderer, c, values)
		}
		return err
	})
	return rls, err
}

// rerenderTimeout is how long a chart may be rendered once more: an action of Helm's
// has its own time, this has none.
const rerenderTimeout = time.Minute

func (r *rerun) skipsSchemas(job Job) bool {
	if r.made.install {
		return job.Spec.Install != nil && job.Spec.Install.DisableSchemaValidation
	}
	return job.Spec.Upgrade != nil && job.Spec.Upgrade.DisableSchemaValidation
}

func (r *rerun) installing(spec *installSpec, job Job, renderer helmpostrender.PostRenderer) *action.Install {
	i := action.NewInstall(r.config)
	i.ReleaseName, i.Namespace = r.made.stored.Name, r.made.stored.Namespace
	i.SkipSchemaValidation = spec != nil && spec.DisableSchemaValidation
	i.DryRunOption, i.DisableOpenAPIValidation, i.SkipCRDs = lookingUp, true, true
	i.PostRenderer, i.EnableDNS, i.Devel = renderer, job.AllowDNS, true
	return i
}

// upgrading renders as an upgrade of a revision that does not matter but for its
// number.
func (r *rerun) upgrading(job Job, renderer helmpostrender.PostRenderer, c *helmchart.Chart, values map[string]any) (*helmrelease.Release, error) {
	before := &helmrelease.Release{
		Name: r.made.stored.Name, Namespace: r.made.stored.Namespace, Version: r.made.revision - 1,
		Info: &helmrelease.Info{Status: helmrelease.StatusDeployed},
	}
	if err := r.config.Releases.Create(before); err != nil {
		return nil, err
	}
	u := action.NewUpgrade(r.config)
	if spec := job.Spec.Upgrade; spec != nil {
		u.SkipSchemaValidation = spec.DisableSchemaValidation
		if spec.PreserveValues {
			values = preserved(r.made.stored.Config, values)
			c.Values = defaultsOf(r.made.stored)
		}
	}
	u.Namespace = before.Namespace
	u.DryRunOption, u.DisableOpenAPIValidation, u.SkipCRDs = lookingUp, true, true
	u.PostRenderer, u.EnableDNS, u.Devel, u.ResetValues = renderer, job.AllowDNS, true, true
	return u.Run(before.Name, c, values)
}

// lookingUp is the dry run that lets templates read the cluster.
const lookingUp = "server"

// preserved returns the values that an upgrade rendered with that kept those of a
// revision which may be gone: they are what was stored, but numbers are of the
// types they had, which decide how they are printed.
func preserved(stored, values map[string]any) map[string]any {
	all := make(map[string]any, len(stored))
	for key, was := range stored {
		is, ok := values[key]
		inner, isMap := is.(map[string]any)
		outer, wasMap := was.(map[string]any)
		switch {
		case isMap && wasMap:
			all[key] = preserved(outer, inner)
		case ok:
			all[key] = clonedValue(is)
		default:
			all[key] = clonedValue(was)
		}
	}
	return all
}

// defaultsOf returns the defaults of the chart in a revision that kept values: it
// has them for its defaults.
func defaultsOf(rls *helmrelease.Release) map[string]any {
	if rls.Chart == nil {
		return nil
	}
	return cloned(rls.Chart.Values)
}

// alike reports whether two manifests are of the same objects. Those that are not
// the same may say the same: another version of a library writes YAML in another
// way, and an upgrade for that is one for nothing.
func alike(a, b string) bool {
	if a == b {
		return true
	}
	first, err := documents(a)
	if err != nil {
		return false
	}
	second, err := documents(b)
	return err == nil && slices.Equal(first, second)
}

// documents returns the documents of a manifest as JSON, sorted, without those that
// say nothing.
func documents(manifest string) ([]string, error) {
	var all []string
	for _, text := range releaseutil.SplitManifests(manifest) {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return nil, err
		}
		if document := strings.TrimSpace(string(raw)); document != "null" {
			all = append(all, document)
		}
	}
	slices.Sort(all)
	return all, nil
}

// Reads returns what Rerender would if the manifest were the same, without
// rendering: what the chart of a job reads, and what the API server offers.
func (r *Runner) Reads(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job) (release.RenderResult, error) {
	reads, err := r.charts.Reads(ctx, job.Artifact)
	if err != nil || !reads.Any() {
		return release.RenderResult{}, err
	}
	offers, err := r.Offers(getter)
	return release.RenderResult{Reads: true, Lookup: reads.Lookup, Capabilities: offers}, err
}
