// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/values"
	"github.com/pintle-dev/pintle/test/harness"
)

// seen is the observed state of the objects of a fleet, by name.
type seen struct {
	releases    map[string]*helmv2.HelmRelease
	stored      map[string][]harness.Revision
	deployments map[string]*appsv1.Deployment
	services    map[string]*corev1.Service
	ingresses   map[string]*networkingv1.Ingress
	accounts    map[string]*corev1.ServiceAccount
	helmCharts  map[string]*sourcev1.HelmChart
}

// look reads all objects.
func look(ctx context.Context, env *harness.Environment) (*seen, error) {
	s := &seen{}
	err := errors.Join(
		list(ctx, env, &helmv2.HelmReleaseList{}, &s.releases),
		list(ctx, env, &appsv1.DeploymentList{}, &s.deployments),
		list(ctx, env, &corev1.ServiceList{}, &s.services),
		list(ctx, env, &networkingv1.IngressList{}, &s.ingresses),
		list(ctx, env, &corev1.ServiceAccountList{}, &s.accounts),
		list(ctx, env, &sourcev1.HelmChartList{}, &s.helmCharts),
	)
	if err != nil {
		return nil, err
	}
	// The namespace's own.
	delete(s.accounts, "default")
	s.stored, err = env.Stored(ctx, namespace)
	return s, err
}

// list reads all objects of a kind.
func list[T client.Object](ctx context.Context, env *harness.Environment, from client.ObjectList, into *map[string]T) error {
	if err := env.Client.List(ctx, from, client.InNamespace(namespace)); err != nil {
		return err
	}
	*into = map[string]T{}
	return apimeta.EachListItem(from, func(item runtime.Object) error {
		if o, ok := item.(T); ok {
			(*into)[o.GetName()] = o
		}
		return nil
	})
}

// unsettled returns the HelmReleases whose status is not as wanted yet.
func (f *fleet) unsettled(releases map[string]*helmv2.HelmRelease) []string {
	var wrong []string
	for i := range f.releases {
		name := releaseName(i)
		hr := releases[name]
		switch {
		case f.releases[i].exists && hr == nil:
			wrong = append(wrong, name+": there is no HelmRelease")
		case !f.releases[i].exists && hr != nil:
			wrong = append(wrong, name+": was deleted and is still there\n"+harness.Summary(hr))
		case hr != nil:
			if said := f.conditionErrors(i, hr); said != "" {
				wrong = append(wrong, name+": "+said+"\n"+harness.Summary(hr))
			}
		}
	}
	return wrong
}

// conditionErrors returns the wrong fields of a HelmRelease's status.
func (f *fleet) conditionErrors(i int, hr *helmv2.HelmRelease) string {
	if !harness.Ready(hr) {
		return "is not ready"
	}
	if len(hr.Status.History) == 0 {
		return "has no history"
	}
	newest, want := hr.Status.History[0], f.wantedVersion(i)
	digest, err := values.Digest(f.values(i))
	switch {
	case err != nil:
		return err.Error()
	case newest.Status != helmv2.StatusDeployed:
		return fmt.Sprintf("says that revision %d is %s", newest.Version, newest.Status)
	case !sameVersion(newest.ChartVersion, want):
		return fmt.Sprintf("has version %s of the chart, not %s", newest.ChartVersion, want)
	case newest.ConfigDigest != digest:
		return fmt.Sprintf("has values with digest %s, not %s, which is that of %v", newest.ConfigDigest, digest, f.values(i))
	}
	return ""
}

// sameVersion ignores the digest that is added to a version from an OCIRepository.
func sameVersion(got, want string) bool {
	version, _, _ := strings.Cut(got, "+")
	return version == want
}

// faults returns all that is not as wanted.
func (f *fleet) faults(s *seen) []string {
	wrong := f.unsettled(s.releases)
	for i := range f.releases {
		if !f.releases[i].exists {
			continue
		}
		for _, fault := range append(f.storageErrors(i, s), f.objectErrors(i, s)...) {
			wrong = append(wrong, releaseName(i)+": "+fault)
		}
	}
	return append(wrong, f.orphans(s)...)
}

// storageErrors returns the errors in the stored revisions of a release.
func (f *fleet) storageErrors(i int, s *seen) []string {
	revisions := s.stored[releaseName(i)]
	if len(revisions) == 0 {
		return []string{"Helm has stored nothing"}
	}
	var wrong []string
	deployed := 0
	for _, r := range revisions {
		if r.Pending {
			wrong = append(wrong, fmt.Sprintf("revision %d is %s", r.Number, r.Status))
		}
		if r.Status == string(helmv2.StatusDeployed) {
			deployed++
		}
	}
	newest := revisions[len(revisions)-1]
	if deployed != 1 || newest.Status != string(helmv2.StatusDeployed) {
		wrong = append(wrong, fmt.Sprintf("%d revisions are deployed, and the newest, %d, is %s", deployed, newest.Number, newest.Status))
	}
	if limit := maxHistory(i); len(revisions) > limit {
		wrong = append(wrong, fmt.Sprintf("%d revisions are stored, more than %d", len(revisions), limit))
	}
	if got, want := newest.ChartVersion, f.wantedVersion(i); !sameVersion(got, want) {
		wrong = append(wrong, fmt.Sprintf("revision %d has version %s of the chart, not %s", newest.Number, got, want))
	}
	if want := f.values(i); !sameJSON(newest.Values, want) {
		wrong = append(wrong, fmt.Sprintf("revision %d has values %v, not %v", newest.Number, newest.Values, want))
	}
	if hr := s.releases[releaseName(i)]; hr != nil && len(hr.Status.History) > 0 && hr.Status.History[0].Version != newest.Number {
		wrong = append(wrong, fmt.Sprintf("revision %d is the newest, and the status says %d", newest.Number, hr.Status.History[0].Version))
	}
	return wrong
}

func sameJSON(a, b map[string]any) bool {
	var decoded [2]any
	for i, v := range []map[string]any{a, b} {
		content, err := json.Marshal(v)
		if err != nil || json.Unmarshal(content, &decoded[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(decoded[0], decoded[1])
}

// objectErrors returns the errors in the objects of a release.
func (f *fleet) objectErrors(i int, s *seen) []string {
	r := &f.releases[i]
	name := f.objectName(i)
	deployment := s.deployments[name]
	if deployment == nil {
		return []string{"there is no Deployment " + name}
	}
	var wrong []string
	differ := func(what string, got, want any) {
		if got != want {
			wrong = append(wrong, fmt.Sprintf("%s is %v, not %v", what, got, want))
		}
	}
	if mannerOf(i) == fickle {
		differ("the Deployment's number of replicas", *deployment.Spec.Replicas, int32(r.replicas))
		return wrong
	}
	env := deployment.Spec.Template.Spec.Containers[0].Env
	if len(env) != 1 {
		return []string{"the Deployment has no message"}
	}
	differ("the Deployment's message", env[0].Value, fmt.Sprintf("message %d", r.message))
	version, _, _ := strings.Cut(strings.TrimPrefix(deployment.Labels["helm.sh/chart"], benchChart+"-"), "_")
	differ("the Deployment's label of the chart", version, f.wantedVersion(i))
	service, ingress := s.services[name], s.ingresses[name]
	if service == nil || ingress == nil || s.accounts[name] == nil {
		return append(wrong, "its Service, its Ingress or its ServiceAccount is missing")
	}
	port, host := 80, name+".example.com"
	if r.config >= 0 {
		port = f.port(r.config)
	}
	if r.secret >= 0 {
		host = f.host(r.secret)
	}
	differ("the Service's port", int(service.Spec.Ports[0].Port), port)
	differ("the Ingress's host", ingress.Spec.Rules[0].Host, host)
	return wrong
}

// objectName is the name of all objects that a release consists of.
func (f *fleet) objectName(i int) string {
	if mannerOf(i) == fickle {
		return releaseName(i) + "-" + fickleChart
	}
	return releaseName(i)
}

// orphans returns objects that belong to no wanted release.
func (f *fleet) orphans(s *seen) []string {
	releases, objects, charts := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range f.releases {
		if !f.releases[i].exists {
			continue
		}
		releases[releaseName(i)], objects[f.objectName(i)] = true, true
		if mannerOf(i) == templated {
			charts[namespace+"-"+releaseName(i)] = true
		}
	}
	return slices.Concat(
		others("HelmRelease", s.releases, releases), others("stored release", s.stored, releases),
		others("HelmChart", s.helmCharts, charts), others("Deployment", s.deployments, objects),
		others("Service", s.services, objects), others("Ingress", s.ingresses, objects), others("ServiceAccount", s.accounts, objects),
	)
}

func others[T any](kind string, have map[string]T, want map[string]bool) []string {
	var wrong []string
	for name := range have {
		if !want[name] {
			wrong = append(wrong, fmt.Sprintf("%s %s should not be there", kind, name))
		}
	}
	slices.Sort(wrong)
	return wrong
}
