// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"bytes"
	"io"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	helmpostrender "helm.sh/helm/v3/pkg/postrender"
	helmrelease "helm.sh/helm/v3/pkg/release"
	helmstorage "helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart/archive"
	"github.com/pintle-dev/pintle/internal/render/postrender"
	"github.com/pintle-dev/pintle/internal/values"
)

// dryRun is an install or upgrade that writes nothing to the cluster.
type dryRun struct {
	// Name and Namespace are those of the release.
	Name, Namespace string
	// Install is true for the revision of an install, false for that of an upgrade.
	Install bool
	// Revision is the number of the revision in the templates of an upgrade. In those of an install
	// it is 1, even if its revision has another number.
	Revision int

	// Chart belongs to the caller again after run. Values may be changed.
	Chart  *helmchart.Chart
	Values map[string]any
	// Spec has the post-renderers and the common metadata.
	Spec helmv2.HelmReleaseSpec
	// Hooks also renders hooks with the post-renderers.
	Hooks bool
	// SkipSchemas disables the validation of values.
	SkipSchemas bool

	// Connection sends the lookups of templates. If it is nil, they find nothing.
	Connection action.RESTClientGetter
	// Capabilities are those that templates see.
	Capabilities *chartutil.Capabilities
	// EnableDNS enables the function getHostByName.
	EnableDNS bool
	// PostRendering, if set, is called before the post-renderers.
	PostRendering func()
}

// run returns the revision that Helm would make. Helm runs a dry run, stores records in memory,
// and finds no objects in manifests, since it cannot only render.
//
// Templates and schemas are programs without limits, and Go cannot end a goroutine from outside. So
// it is called in workers only.
func (in *dryRun) run() (*helmrelease.Release, error) {
	renderer, err := postrender.NewAction(in.Spec, helmv2.Defaults{})
	if err != nil {
		return nil, err
	}
	if in.PostRendering != nil && renderer.Manifest != nil {
		renderer.Manifest = reported{renderer.Manifest, in.PostRendering}
	}
	if !in.SkipSchemas {
		if err := checkSchemas(in.Chart, in.Values); err != nil {
			return nil, err
		}
	}
	memory := driver.NewMemory()
	memory.SetNamespace(in.Namespace)
	config := &action.Configuration{
		Releases: helmstorage.Init(memory), Capabilities: in.Capabilities, RESTClientGetter: in.Connection,
		KubeClient: &kubefake.PrintingKubeClient{Out: io.Discard}, Log: func(string, ...any) {},
	}
	run := in.upgrade
	if in.Install {
		run = in.install
	}
	stored := in.Chart
	if in.Chart, err = withoutNulls(stored, in.Values); err != nil {
		return nil, err
	}
	rls, err := run(config, renderer)
	if err != nil {
		return nil, err
	}
	if in.Chart != stored {
		rls.Chart = stored
	}
	if in.Hooks {
		err = renderer.Hooks(rls)
	}
	return rls, err
}

// checkSchemas returns the error of values.CheckSchemas about the charts that are enabled: Helm reads
// the schemas of no others. Few charts have such an error, and only those are copied.
func checkSchemas(c *helmchart.Chart, all map[string]any) error {
	err := values.CheckSchemas(c)
	if err == nil {
		return nil
	}
	enabled := archive.Copy(c)
	if chartutil.ProcessDependenciesWithMerge(enabled, values.CloneMap(all)) != nil {
		return err
	}
	return values.CheckSchemas(enabled)
}

// reported is a post-renderer that reports when it begins.
type reported struct {
	helmpostrender.PostRenderer

	begin func()
}

// Run implements Helm's PostRenderer.
func (r reported) Run(manifest *bytes.Buffer) (*bytes.Buffer, error) {
	r.begin()
	return r.PostRenderer.Run(manifest)
}

// option returns the kind of dry run: with "server", templates may read the cluster.
func (in *dryRun) option() string {
	if in.Connection == nil {
		return "client"
	}
	return "server"
}

func (in *dryRun) install(config *action.Configuration, renderer postrender.Action) (*helmrelease.Release, error) {
	i := action.NewInstall(config)
	i.ReleaseName, i.Namespace = in.Name, in.Namespace
	i.SkipSchemaValidation = in.SkipSchemas
	i.DryRunOption, i.DisableOpenAPIValidation, i.SkipCRDs = in.option(), true, true
	i.PostRenderer, i.EnableDNS, i.Devel = renderer.Manifest, in.EnableDNS, true
	return i.Run(in.Chart, in.Values)
}

// upgrade renders an upgrade from a revision of which only the number matters.
func (in *dryRun) upgrade(config *action.Configuration, renderer postrender.Action) (*helmrelease.Release, error) {
	before := &helmrelease.Release{
		Name: in.Name, Namespace: in.Namespace, Version: in.Revision - 1, Info: &helmrelease.Info{Status: helmrelease.StatusDeployed},
	}
	if err := config.Releases.Create(before); err != nil {
		return nil, err
	}
	u := action.NewUpgrade(config)
	u.SkipSchemaValidation = in.SkipSchemas
	u.Namespace = in.Namespace
	u.DryRunOption, u.DisableOpenAPIValidation, u.SkipCRDs = in.option(), true, true
	u.PostRenderer, u.EnableDNS, u.Devel, u.ResetValues = renderer.Manifest, in.EnableDNS, true, true
	return u.Run(in.Name, in.Chart, in.Values)
}
