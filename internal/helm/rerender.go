// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/action"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/bounded"
	"github.com/pintle-dev/pintle/internal/helm/redact"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render"
	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/values"
)

// Rerender renders the chart of a job in the way it was rendered for a stored revision, and
// compares the manifests. The revision must have been made of the same chart and values; job.Action
// has no effect. Rerender writes nothing to the cluster. It sends no request for a chart that does
// not read the cluster.
//
// If the manifest has changed, the chart is rendered a second time, as if at another time, to find
// manifests that are Unstable. A random manifest that is the same by chance is not found.
//
// It is an error if the chart can no longer be rendered. It is also an error if the manifest has
// changed while the API server could not list all APIs, since objects that depend on the missing
// APIs would be deleted.
//
// Requests are sent once. job.Idle is called while Rerender waits for a worker or for an answer.
func (r *Runner) Rerender(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, version int) (release.RenderResult, error) {
	redactor := redact.New(job.Secrets)
	job.retrier = apiretry.New(ctx, apiretry.Options{Now: r.now, ReleaseSlot: job.Idle})
	defer job.retrier.End()
	facts, err := r.charts.Facts(ctx, job.Artifact)
	if err != nil {
		return release.RenderResult{}, redactor.Error(fmt.Errorf("could not load chart: %w", err))
	}
	if !facts.ReadsCluster() {
		return release.RenderResult{}, nil
	}
	result, err := r.rerender(ctx, getter, job, version, facts)
	return result, redactor.Error(redact.OneLine(err))
}

func (r *Runner) rerender(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, version int, facts remote.Facts) (release.RenderResult, error) {
	result := release.RenderResult{Reads: true, Lookup: facts.Lookup}
	capabilities, in, stored, err := r.readRendered(ctx, getter, job, version)
	if err != nil {
		return result, err
	}
	result.Capabilities = r.digests.Digest(capabilities.Capabilities)
	in.Capabilities = capabilities.Capabilities
	again := r.again(getter, job)
	manifest, err := again.rerender(ctx, in, stored)
	if err != nil || sameObjects(stored.Manifest, manifest) {
		return result, err
	}
	if capabilities.Incomplete != nil && facts.Capabilities {
		return result, fmt.Errorf("the chart renders to another manifest than that of revision %d, but the API server could not tell all that it offers: %w", version, capabilities.Incomplete)
	}
	in.OtherTime = true
	other, err := again.rerender(ctx, in, stored)
	if err != nil {
		return result, err
	}
	result.Unstable = !sameObjects(manifest, other)
	result.Changed = !result.Unstable
	return result, nil
}

// readRendered reads the capabilities of the cluster, and the input that renders a stored revision
// again.
func (r *Runner) readRendered(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, version int) (render.Capabilities, remote.Rendering, *helmrelease.Release, error) {
	defer job.retrier.ReleaseSlotAfter(renderPatience)()
	capabilities, err := render.CapabilitiesOf(getter)
	if err != nil {
		return capabilities, remote.Rendering{}, nil, err
	}
	store, err := r.storage.Open(ctx, getter, job.Desired.Target, storage.Options{ReadCache: true})
	if err != nil {
		return capabilities, remote.Rendering{}, nil, err
	}
	in, stored, err := inputOf(store, job.Desired.Target.Name, version)
	return capabilities, in, stored, err
}

// rerenderTimeout limits one rendering. The timeouts of actions do not apply here.
const rerenderTimeout = time.Minute

// again returns the state of a job that is only rendered again.
func (r *Runner) again(getter genericclioptions.RESTClientGetter, job Job) *run {
	return &run{job: job, charts: r.charts, remote: r.remote, config: &action.Configuration{RESTClientGetter: getter}}
}

// rerender returns the manifest that Helm would store now in place of a stored revision.
func (r *run) rerender(ctx context.Context, in remote.Rendering, stored *helmrelease.Release) (string, error) {
	var err error
	if in.Chart, err = r.load(ctx); err != nil {
		return "", err
	}
	in.SkipSchemas = r.job.Spec.GetInstall().DisableSchemaValidation
	if !in.Install {
		in.SkipSchemas = r.job.Spec.GetUpgrade().DisableSchemaValidation
		if r.job.Spec.GetUpgrade().PreserveValues {
			in.Values = values.PreserveAgain(stored.Config, r.job.Values)
			if stored.Chart != nil {
				// The stored chart has the merged values as its defaults.
				in.Defaults = values.CloneMap(stored.Chart.Values)
			}
		}
	}
	in.ManifestOnly, in.Timeout = true, rerenderTimeout
	rendered, err := r.rendering(ctx, in)
	if err != nil {
		return "", err
	}
	return rendered.Manifest, nil
}

// inputOf returns the input that renders a stored revision again, and the revision. The revision of
// a rollback was rendered for its target revision. If that is deleted, revision 1 counts as an
// install, and the others count as upgrades.
func inputOf(store *storage.Driver, name string, version int) (remote.Rendering, *helmrelease.Release, error) {
	rls, err := store.Revision(version)
	if err != nil {
		return remote.Rendering{}, nil, fmt.Errorf("revision %d of release %s: %w", version, name, err)
	}
	in := remote.Rendering{Namespace: rls.Namespace, Revision: version}
	for from := rls; ; {
		if made := storage.ActionOf(from); made != helmv2.ActionRollback {
			in.Install = made == helmv2.ActionInstall
			return in, rls, nil
		}
		in.Revision = rollbackTarget(from)
		if in.Revision == 0 {
			return in, nil, fmt.Errorf("revision %d of release %s was made by a rollback, and it is not known to which revision", from.Version, name)
		}
		from, err = store.Revision(in.Revision)
		if errors.Is(err, driver.ErrReleaseNotFound) {
			in.Install = in.Revision == 1
			return in, rls, nil
		}
		if err != nil {
			return in, nil, fmt.Errorf("revision %d of release %s: %w", in.Revision, name, err)
		}
	}
}

// rollbackTarget returns the target revision of a rollback, 0 if it is unknown.
func rollbackTarget(rls *helmrelease.Release) int {
	text, _ := strings.CutPrefix(rls.Info.Description, "Rollback to ")
	version, err := strconv.Atoi(text)
	if err != nil || version < 1 || version >= rls.Version {
		return 0
	}
	return version
}

// Reads returns the result that Rerender would return for an unchanged manifest, without rendering:
// the reads of the chart, and the digest of the capabilities.
func (r *Runner) Reads(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job) (release.RenderResult, error) {
	facts, err := r.charts.Facts(ctx, job.Artifact)
	if err != nil || !facts.ReadsCluster() {
		return release.RenderResult{}, err
	}
	digest, err := r.Capabilities(getter)
	return release.RenderResult{Reads: true, Lookup: facts.Lookup, Capabilities: digest}, err
}

// Capabilities returns a digest of the capabilities of a cluster. It changes with the version and
// the APIs of the API server. Requests are sent only if the cached capabilities have expired.
func (r *Runner) Capabilities(getter genericclioptions.RESTClientGetter) (string, error) {
	capabilities, err := render.CapabilitiesOf(getter)
	if err != nil {
		return "", err
	}
	return r.digests.Digest(capabilities.Capabilities), nil
}

// sameObjects reports whether two manifests contain the same objects. The manifests may differ in
// their form: another version of a library writes YAML in another form, and that must not cause
// an upgrade.
func sameObjects(a, b string) bool {
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

// documents returns the documents of a manifest as JSON, sorted, without empty ones.
func documents(manifest string) ([]string, error) {
	var all []string
	for _, text := range releaseutil.SplitManifests(manifest) {
		raw, err := bounded.Manifest().ToJSON([]byte(text))
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
