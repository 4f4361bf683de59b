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
)

// releaseName returns the name in an argument, which may have the kind before it, as kubectl prints
// and accepts it: web, hr/web or helmrelease.helm.toolkit.fluxcd.io/web. A HelmChart of k3s has the name
// of its HelmRelease: hc/web or helmchart.helm.cattle.io/web.
func releaseName(arg string) (string, error) {
	kind, name, has := strings.Cut(arg, "/")
	if !has {
		return arg, nil
	}
	kind, group, _ := strings.Cut(strings.ToLower(kind), ".")
	isRelease := slices.Contains([]string{"hr", "helmrelease", "helmreleases"}, kind)
	isChart := slices.Contains([]string{"hc", "helmchart", "helmcharts"}, kind) && (group == "" || strings.HasSuffix(group, cattlev1.Group))
	if name == "" || !isRelease && !isChart {
		return "", fmt.Errorf("%q names no HelmRelease: give its name, or helmrelease/NAME, and its namespace with --namespace", arg)
	}
	return name, nil
}

// release returns the HelmRelease that an argument names.
func (c *connection) release(ctx context.Context, arg string) (*helmv2.HelmRelease, error) {
	name, err := releaseName(arg)
	if err != nil {
		return nil, err
	}
	hr, err := c.reader.Release(ctx, c.namespace, name)
	return hr, c.suggest(ctx, releaseKind(), name, err)
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
	text := kind.Kind + " " + name + " not found"
	if c.namespace != "" {
		text += " in namespace " + c.namespace
	}
	return errors.New(strings.TrimSpace(text + ". " + similar(name, c.namespace, c.names(ctx, kind))))
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
