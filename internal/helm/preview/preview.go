// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"io"
	"time"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	helmrelease "helm.sh/helm/v3/pkg/release"
	helmstorage "helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/render"
	"github.com/pintle-dev/pintle/internal/render/postrender"
)

// Input is the input of Render.
type Input struct {
	// Name and Namespace are those of the release.
	Name, Namespace string
	// Install is true for the revision of an install, false for that of an upgrade.
	Install bool
	// Revision is the number of the revision in the templates of an upgrade. In those of an install
	// it is 1, even if its revision has another number.
	Revision int
	// Stored, if set, is the revision to render again. An upgrade that preserves values takes them
	// from it. Without it, the values contain preserved ones already.
	Stored *helmrelease.Release

	// Chart belongs to the caller again after Render. Values may be changed.
	Chart    *helmchart.Chart
	Values   map[string]any
	Spec     helmv2.HelmReleaseSpec
	Defaults helmv2.Defaults
	// Hooks also renders hooks with the post-renderers.
	Hooks bool

	Connection action.RESTClientGetter
	// Capabilities, if set, are those that templates see. Otherwise Helm reads them.
	Capabilities *chartutil.Capabilities
	Options      render.Options
	Timeout      time.Duration
}

// Render returns the revision that Helm would make. Helm runs a dry run, stores records in memory,
// and finds no objects in manifests, since it cannot only render.
func Render(ctx context.Context, in Input) (*helmrelease.Release, error) {
	renderer, err := postrender.NewAction(in.Spec, in.Defaults)
	if err != nil {
		return nil, err
	}
	memory := driver.NewMemory()
	memory.SetNamespace(in.Namespace)
	config := &action.Configuration{
		Releases: helmstorage.Init(memory), Capabilities: in.Capabilities,
		KubeClient: &kubefake.PrintingKubeClient{Out: io.Discard}, Log: func(string, ...any) {},
	}
	a := render.Action{
		Connection: in.Connection, Chart: in.Chart, Timeout: in.Timeout, SkipSchemaValidation: in.skipsSchemas(), Options: in.Options,
	}
	var rls *helmrelease.Release
	err = a.Run(ctx, func(connection action.RESTClientGetter, _ func()) (err error) {
		config.RESTClientGetter = connection
		if in.Install {
			rls, err = in.install(config, renderer)
		} else {
			rls, err = in.upgrade(config, renderer)
		}
		return err
	})
	if err == nil && in.Hooks {
		err = renderer.Hooks(rls)
	}
	return rls, err
}

func (in *Input) skipsSchemas() bool {
	if in.Install {
		return in.Spec.Install != nil && in.Spec.Install.DisableSchemaValidation
	}
	return in.Spec.Upgrade != nil && in.Spec.Upgrade.DisableSchemaValidation
}

// dryRunOption is the dry run in which templates may read the cluster.
const dryRunOption = "server"

func (in *Input) install(config *action.Configuration, renderer postrender.Action) (*helmrelease.Release, error) {
	i := action.NewInstall(config)
	i.ReleaseName, i.Namespace = in.Name, in.Namespace
	i.SkipSchemaValidation = in.skipsSchemas()
	i.DryRunOption, i.DisableOpenAPIValidation, i.SkipCRDs = dryRunOption, true, true
	i.PostRenderer, i.EnableDNS, i.Devel = renderer.Manifest, in.Options.EnableDNS, true
	return i.Run(in.Chart, in.Values)
}

// upgrade renders an upgrade from a revision of which only the number matters.
func (in *Input) upgrade(config *action.Configuration, renderer postrender.Action) (*helmrelease.Release, error) {
	before := &helmrelease.Release{
		Name: in.Name, Namespace: in.Namespace, Version: in.Revision - 1, Info: &helmrelease.Info{Status: helmrelease.StatusDeployed},
	}
	if err := config.Releases.Create(before); err != nil {
		return nil, err
	}
	values := in.Values
	if in.Stored != nil && in.Spec.Upgrade != nil && in.Spec.Upgrade.PreserveValues {
		values = preservedAgain(in.Stored.Config, values)
		in.Chart.Values = defaultsOf(in.Stored)
	}
	u := action.NewUpgrade(config)
	u.SkipSchemaValidation = in.skipsSchemas()
	u.Namespace = in.Namespace
	u.DryRunOption, u.DisableOpenAPIValidation, u.SkipCRDs = dryRunOption, true, true
	u.PostRenderer, u.EnableDNS, u.Devel, u.ResetValues = renderer.Manifest, in.Options.EnableDNS, true, true
	return u.Run(in.Name, in.Chart, values)
}

// defaultsOf returns the defaults of the chart in a revision that preserved values. Such a chart
// has the merged values as its defaults.
func defaultsOf(rls *helmrelease.Release) map[string]any {
	if rls.Chart == nil {
		return nil
	}
	return Clone(rls.Chart.Values)
}
