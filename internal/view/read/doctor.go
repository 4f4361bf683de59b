// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
	"context"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view/doctor"
)

// DoctorOptions select what is checked.
type DoctorOptions struct {
	// Namespace restricts the HelmReleases; empty means all namespaces.
	Namespace string
	// DefaultServiceAccount replaces the flag of the controller, if it is set.
	DefaultServiceAccount *string
}

// Doctor returns the facts of an installation.
func (r *Reader) Doctor(ctx context.Context, o DoctorOptions) doctor.Facts {
	d := &examination{Reader: r, facts: doctor.Facts{Now: r.Now()}}
	d.readCRDs(ctx)
	d.readControllers(ctx)
	d.readLeases(ctx)
	d.readReleases(ctx, o.Namespace)
	d.readRights(ctx, o)
	return d.facts
}

func (d *examination) readCRDs(ctx context.Context) {
	names := doctor.OptionalCRDs()
	for name := range doctor.RequiredCRDs() {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := d.Client.Get(ctx, client.ObjectKey{Name: name}, crd)
		fact := doctor.CRD{Name: name, Found: err == nil}
		if err != nil && !apierrors.IsNotFound(err) {
			d.unread(doctor.ResourceCRDs, err)
			continue
		}
		for _, v := range crd.Spec.Versions {
			fact.Declared = append(fact.Declared, v.Name)
			if v.Served {
				fact.Served = append(fact.Served, v.Name)
				fact.NoTemplateKind = fact.NoTemplateKind || hasNoTemplateKind(v)
				fact.NoFileValues = fact.NoFileValues || hasNoFileValues(v)
			}
		}
		fact.Stored = crd.Status.StoredVersions
		d.facts.CRDs = append(d.facts.CRDs, fact)
	}
}

// hasNoTemplateKind reports whether a version of a CRD has spec.chart, and not spec.chart.kind.
func hasNoTemplateKind(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
	if v.Name != helmv2.GroupVersion.Version || v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return false
	}
	chart, found := v.Schema.OpenAPIV3Schema.Properties["spec"].Properties["chart"]
	_, kind := chart.Properties["kind"]
	return found && !kind
}

// hasNoFileValues reports whether a version of a CRD has spec.valuesFrom without kinds of sources.
func hasNoFileValues(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
	if v.Name != helmv2.GroupVersion.Version || v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return false
	}
	entry := v.Schema.OpenAPIV3Schema.Properties["spec"].Properties["valuesFrom"].Items
	if entry == nil || entry.Schema == nil {
		return false
	}
	kinds := entry.Schema.Properties["kind"].Enum
	isSource := func(kind apiextensionsv1.JSON) bool { return string(kind.Raw) == `"`+helmv2.KindGitRepository+`"` }
	return len(kinds) > 0 && !slices.ContainsFunc(kinds, isSource)
}

func (d *examination) readReleases(ctx context.Context, namespace string) {
	list, err := d.Releases(ctx, namespace)
	switch {
	case apimeta.IsNoMatchError(err), apierrors.IsNotFound(err):
		// The check of the CRD reports it.
	case err != nil:
		d.unread(doctor.ResourceReleases, err)
	default:
		d.facts.Releases = list.Items
	}
}

// readRights reads the rights of each identity that releases act as.
func (d *examination) readRights(ctx context.Context, o DoctorOptions) {
	usual := ""
	for _, c := range d.facts.Controllers {
		if c.DefaultServiceAccount != "" {
			usual = c.DefaultServiceAccount
		}
	}
	if o.DefaultServiceAccount != nil {
		usual = *o.DefaultServiceAccount
	}
	byAccount := map[client.ObjectKey][]*helmv2.HelmRelease{}
	for i := range d.facts.Releases {
		hr := &d.facts.Releases[i]
		name := hr.Spec.ServiceAccountName
		if name == "" {
			name = usual
		}
		if name != "" && hr.Spec.KubeConfig == nil {
			key := client.ObjectKey{Namespace: hr.Namespace, Name: name}
			byAccount[key] = append(byAccount[key], hr)
		}
	}
	d.facts.Rights = d.rightsOf(ctx, byAccount)
}
