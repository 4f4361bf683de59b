// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/pintle-dev/pintle/internal/chart/archive"
	"github.com/pintle-dev/pintle/internal/render/postrender"
	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/values"
	"github.com/pintle-dev/pintle/internal/worker"
)

// New returns the functions of a worker. They are stateless except for a cache.
func New() worker.Handler {
	w := &functions{cache: newCache()}
	return w.handle
}

// ForProcess returns the functions of a worker process without network, which runs one call at a
// time. It replaces the resolver of the process.
func ForProcess() worker.Handler {
	w := &functions{cache: newCache(), resolver: &resolver{}}
	w.resolver.install()
	return w.handle
}

type functions struct {
	cache *cache
	// resolver is that of the process; nil if the process has a network.
	resolver *resolver
}

var errName = errors.New("there is no such function")

type (
	// unloadable is the error of an archive, and misfit the error of values that do not fit a schema.
	unloadable struct{ error }
	misfit     struct{ error }
)

// handle implements worker.Handler. A panic of a library is an error.
func (w *functions) handle(ctx context.Context, name string, request []byte, ask worker.Ask) (response []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			response, err = nil, fmt.Errorf("the chart cannot be used: %v", p)
		}
	}()
	r, err := remote.DecodeRequest(request)
	if err != nil {
		return nil, err
	}
	worker.Note(ctx, "loading the archive")
	switch name {
	case remote.FunctionIdentify:
		response, err = w.identify(ctx, r)
	case remote.FunctionCRDs:
		response, err = w.crds(ctx, r)
	case remote.FunctionFiles:
		response, err = files(ctx, r)
	case remote.FunctionRender:
		response, err = w.render(ctx, r, ask)
	case remote.FunctionUnread:
		response, err = w.unread(ctx, r)
	default:
		return nil, fmt.Errorf("%w: %q", errName, name)
	}
	if bad, ok := errors.AsType[unloadable](err); ok {
		return remote.EncodeUnloadable(bad.error)
	}
	if bad, ok := errors.AsType[misfit](err); ok {
		return remote.EncodeMisfit(bad.error)
	}
	return response, err
}

// parse returns the chart of a request, which the caller must not change.
func (w *functions) parse(r *remote.Rendering) (c *helmchart.Chart, err error) {
	if c := w.cache.chart(r.Digest); c != nil {
		return c, nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = unloadable{fmt.Errorf("cannot be read: %v", p)}
		}
	}()
	if c, err = archive.Load(r.Archive); err != nil {
		return nil, unloadable{err}
	}
	w.cache.addChart(r.Digest, c)
	return c, nil
}

// load returns a copy of the chart of a request with the version and the defaults of the release.
func (w *functions) load(r *remote.Rendering) (*helmchart.Chart, error) {
	parsed, err := w.parse(r)
	if err != nil {
		return nil, err
	}
	c := archive.Copy(parsed)
	c.Metadata.Version = r.Version
	if r.Defaults != nil {
		c.Values = values.CloneMap(r.Defaults)
	}
	return c, nil
}

func (w *functions) identify(ctx context.Context, r *remote.Rendering) ([]byte, error) {
	c, err := w.parse(r)
	if err != nil {
		return nil, err
	}
	worker.Note(ctx, "searching the templates")
	reads := archive.ReadsOf(c)
	return remote.EncodeFacts(remote.Facts{
		Name: c.Metadata.Name, Version: c.Metadata.Version, AppVersion: c.Metadata.AppVersion,
		Lookup: reads.Lookup, Capabilities: reads.Capabilities, CRDs: len(c.CRDObjects()) > 0, Content: archive.ContentOf(c),
	})
}

// crds returns the CRDs of the enabled charts. It also validates post-renderers, so that CRDs are
// not applied for a spec that cannot be rendered.
func (w *functions) crds(ctx context.Context, r *remote.Rendering) ([]byte, error) {
	c, err := w.load(r)
	if err != nil {
		return nil, err
	}
	worker.Note(ctx, "reading values, dependencies and CRDs")
	spec := r.PostRender.Spec()
	if _, err := postrender.New(spec.PostRenderers, spec.CommonMetadata); err != nil {
		return nil, err
	}
	all := remote.CRDs{Unpacked: unpackedSize(c, r.Values)}
	if err := chartutil.ProcessDependenciesWithMerge(c, r.Values); err != nil {
		return nil, err
	}
	all.Files = c.CRDObjects()
	return remote.EncodeCRDs(all)
}

// files returns the files of an artifact that patterns select.
func files(ctx context.Context, r *remote.Rendering) ([]byte, error) {
	worker.Note(ctx, "reading the files of the artifact")
	selections, err := archive.Select(r.Archive, r.Patterns)
	if err != nil {
		return nil, unloadable{err}
	}
	size := 0
	all := make([]remote.Files, 0, len(selections))
	for _, s := range selections {
		of := remote.Files{Pattern: s.Pattern}
		if s.Err != nil {
			of.Refused = s.Err.Error()
		}
		for _, f := range s.Files {
			size += len(f.Data) + len(f.Path)
			of.Files = append(of.Files, remote.File{Path: f.Path, Data: f.Data})
		}
		all = append(all, of)
	}
	return remote.EncodeFiles(all, size)
}

// unpackedSize returns the number of bytes that are rendered and stored.
func unpackedSize(c *helmchart.Chart, values map[string]any) int {
	raw, err := json.Marshal(values)
	if err != nil {
		return 0
	}
	sum := len(raw) + len(c.Schema)
	for _, part := range append([]*helmchart.Chart{c}, c.Dependencies()...) {
		for _, f := range slices.Concat(part.Templates, part.Files) {
			sum += len(f.Data)
		}
	}
	return sum
}

func (w *functions) render(ctx context.Context, r *remote.Rendering, ask worker.Ask) ([]byte, error) {
	if w.resolver != nil && r.EnableDNS {
		w.resolver.ask.Store(&ask)
		defer w.resolver.ask.Store(nil)
	}
	traced := worker.Traced(ctx)
	if traced && !r.SkipSchemas {
		if c, err := w.load(r); err == nil {
			validateSchemas(ctx, c, values.CloneMap(r.Values))
		}
	}
	rendered, err := w.dryRun(ctx, r, ask, traced)
	if err != nil && traced {
		// Marks move the columns of errors, so the result without them counts.
		worker.Note(ctx, "")
		rendered, err = w.dryRun(ctx, r, ask, false)
	}
	if err != nil {
		err = w.explained(r, err)
	}
	if err != nil && r.KeepChart {
		rendered, err = w.kept(r, err)
	}
	if err != nil {
		return nil, err
	}
	return remote.EncodeRendered(rendered)
}

// explained returns the error of values that do not fit a schema in place of Helm's, which has several
// lines, and other errors as they are.
func (w *functions) explained(r *remote.Rendering, failure error) error {
	if r.SkipSchemas {
		return failure
	}
	c, err := w.load(r)
	if err != nil {
		return failure
	}
	all := values.CloneMap(r.Values)
	if chartutil.ProcessDependenciesWithMerge(c, all) != nil || dropNulls(c, all) != nil {
		return failure
	}
	merged, err := chartutil.CoalesceValues(c, all)
	if err != nil {
		return failure
	}
	if bad := values.Misfit(c, merged); bad != nil {
		return misfit{bad}
	}
	return failure
}

// dryRun returns the result of a dry run of Helm.
func (w *functions) dryRun(ctx context.Context, r *remote.Rendering, ask worker.Ask, marked bool) (*remote.Rendered, error) {
	c, err := w.load(r)
	if err != nil {
		return nil, err
	}
	if r.OtherTime {
		archive.ShiftTime(c)
	}
	in := inputOf(r, c)
	at := &connection{server: r.Server, timeout: r.RequestTimeout, ask: ask}
	if in.Connection = at; marked {
		in.Values, at.marks = values.CloneMap(r.Values), mark(ctx, c)
		worker.Note(ctx, "processing the values")
	}
	in.PostRendering = func() { worker.Note(ctx, "post-rendering") }
	rls, err := in.run()
	if err != nil {
		return nil, err
	}
	worker.Note(ctx, "encoding the result")
	rendered := &remote.Rendered{Manifest: rls.Manifest}
	if !r.ManifestOnly {
		at.marks.remove(rls.Chart)
		rendered.Notes, rendered.Hooks = rls.Info.Notes, rls.Hooks
		if rendered.Chart, err = json.Marshal(rls.Chart); err != nil {
			return nil, err
		}
	}
	worker.Note(ctx, "checking the rendered manifests")
	return rendered, remote.CheckBudget(rendered)
}

// inputOf returns the input of a dry run without a connection.
func inputOf(r *remote.Rendering, c *helmchart.Chart) *dryRun {
	capabilities := *r.Capabilities
	capabilities.APIVersions = slices.Concat(capabilities.APIVersions, r.APIs)
	return &dryRun{
		Name: r.Release, Namespace: r.Namespace, Install: r.Install, Revision: r.Revision, Chart: c, Values: r.Values,
		Spec: r.PostRender.Spec(), Hooks: r.Hooks, SkipSchemas: r.SkipSchemas,
		EnableDNS: r.EnableDNS, Capabilities: &capabilities,
	}
}

// kept returns the chart of a failed rendering as Helm would store it, with the error.
func (w *functions) kept(r *remote.Rendering, failure error) (*remote.Rendered, error) {
	c, err := w.load(r)
	if err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependenciesWithMerge(c, r.Values); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return &remote.Rendered{Chart: raw, Failed: failure.Error()}, nil
}
