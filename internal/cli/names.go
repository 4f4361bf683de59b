// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/brief"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/helmchart"
	"github.com/pintle-dev/pintle/internal/view"
)

// releaseName returns the name in an argument, which may have the kind before it, as kubectl prints
// and accepts it: web, hr/web or helmrelease.helm.toolkit.fluxcd.io/web. A HelmChart of k3s has the name
// of its HelmRelease: hc/web or helmchart.helm.cattle.io/web.
func releaseName(arg string) (string, error) {
	kind, name, has := strings.Cut(arg, "/")
	if !has {
		return arg, nil
	}
	kind, _, _ = strings.Cut(strings.ToLower(kind), ".")
	if name == "" || !slices.Contains([]string{"hr", "helmrelease", "helmreleases"}, kind) && !isHelmChart(arg) {
		return "", fmt.Errorf("%q names no HelmRelease: give its name, or helmrelease/NAME, and its namespace with --namespace", arg)
	}
	return name, nil
}

// isHelmChart reports whether an argument names a HelmChart of k3s.
func isHelmChart(arg string) bool {
	kind, _, _ := strings.Cut(arg, "/")
	kind, group, _ := strings.Cut(strings.ToLower(kind), ".")
	return kind != arg && slices.Contains([]string{"hc", "helmchart", "helmcharts"}, kind) && (group == "" || strings.HasSuffix(group, cattlev1.Group))
}

// ownerName returns the owner of a HelmRelease that is made for a HelmChart, as views have it.
func ownerName(name string) string { return cattlev1.HelmChartKind + "/" + name }

// release returns the HelmRelease that an argument names.
func (c *connection) release(ctx context.Context, arg string) (*helmv2.HelmRelease, error) {
	name, err := releaseName(arg)
	if err != nil {
		return nil, err
	}
	hr, err := c.reader.Release(ctx, c.namespace, name)
	if apierrors.IsNotFound(err) || err == nil && isHelmChart(arg) && view.OwnerOf(hr) != ownerName(name) {
		return nil, c.missingRelease(ctx, arg)
	}
	return hr, err
}

// missingRelease returns the error for an argument that names no HelmRelease. For a HelmChart it has the
// reason, if the user may read it.
func (c *connection) missingRelease(ctx context.Context, arg string) error {
	name, err := releaseName(arg)
	if err != nil {
		return err
	}
	if !isHelmChart(arg) {
		return c.missing(ctx, releaseKind(), name)
	}
	chart := &cattlev1.HelmChart{}
	switch err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, chart); {
	case apierrors.IsNotFound(err):
		return c.missing(ctx, cattlev1.GroupVersion.WithKind(cattlev1.HelmChartKind), name)
	case err != nil:
		return fmt.Errorf("no HelmRelease was made for HelmChart %s in namespace %s, and why is not known: %w", name, c.namespace, err)
	}
	why := "Pintle does not manage it: its annotation " + cattlev1.AnnotationManagedBy + " is not " + cattlev1.ManagedBy + ", or it has no chart"
	if helmchart.Manages(chart) {
		why = "no controller with the feature gate HelmChartAPI has reconciled it"
		for _, condition := range chart.Status.Conditions {
			if condition.Type == cattlev1.ConditionFailed && condition.Status == metav1.ConditionTrue {
				why = condition.Message
			}
		}
	}
	return fmt.Errorf("no HelmRelease was made for HelmChart %s in namespace %s: %s", name, c.namespace, text.Clean(why))
}

func releaseKind() schema.GroupVersionKind {
	return helmv2.GroupVersion.WithKind(helmv2.HelmReleaseKind)
}

// suggest replaces the error that an object does not exist by one that names a similar object. Other
// errors remain.
func (c *connection) suggest(ctx context.Context, kind schema.GroupVersionKind, name string, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	return c.missing(ctx, kind, name)
}

// missing returns the error for an object that does not exist. It names similar objects, if the user
// may list them.
func (c *connection) missing(ctx context.Context, kind schema.GroupVersionKind, name string) error {
	what := kind.Kind + " " + name + " not found"
	if c.namespace != "" {
		what += " in namespace " + c.namespace
	}
	return errors.New(strings.TrimSpace(what + ". " + similar(name, c.namespace, c.names(ctx, kind))))
}

// names returns the names of all objects of a kind: if the user may not list those of the cluster,
// those in the namespace.
func (c *connection) names(ctx context.Context, kind schema.GroupVersionKind) []client.ObjectKey {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if c.List(ctx, list) != nil && c.List(ctx, list, client.InNamespace(c.namespace)) != nil {
		return nil
	}
	all := make([]client.ObjectKey, 0, len(list.Items))
	for i := range list.Items {
		all = append(all, client.ObjectKeyFromObject(&list.Items[i]))
	}
	return all
}

// maxSimilar is the number of names that a message lists.
const maxSimilar = 3

// similar returns a sentence with the other namespaces that have an object of a name, or with the
// names in the namespace that are like it; empty if there is neither. An empty namespace is all.
func similar(name, namespace string, all []client.ObjectKey) string {
	var elsewhere []string
	// Names are compared as cobra compares the names of commands.
	near := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, key := range all {
		switch {
		case key.Name == name:
			elsewhere = append(elsewhere, key.Namespace)
		case namespace == "" || key.Namespace == namespace:
			near.AddCommand(&cobra.Command{Use: key.Name, Run: func(*cobra.Command, []string) {}})
		}
	}
	slices.Sort(elsewhere)
	if len(elsewhere) == 1 {
		return fmt.Sprintf("There is one in namespace %s: -n %[1]s", elsewhere[0])
	}
	if len(elsewhere) > 1 {
		return "There is one in namespaces " + brief.List(elsewhere, maxSimilar) + "."
	}
	if names := near.SuggestionsFor(name); len(names) > 0 {
		slices.Sort(names)
		return "Did you mean " + brief.List(slices.Compact(names), maxSimilar) + "?"
	}
	return ""
}
