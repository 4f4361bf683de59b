// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/parallel"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/doctor"
)

// Allowed reports whether a ServiceAccount has a right.
type Allowed func(ctx context.Context, account client.ObjectKey, right authorizationv1.ResourceAttributes) (bool, error)

// Review returns an Allowed that sends SubjectAccessReviews.
func Review(writer client.Writer) Allowed {
	return func(ctx context.Context, account client.ObjectKey, right authorizationv1.ResourceAttributes) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + account.Namespace + ":" + account.Name,
			Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + account.Namespace, "system:authenticated"},
			ResourceAttributes: &right,
		}}
		err := writer.Create(ctx, review)
		return review.Status.Allowed, err
	}
}

// maxReviews is the number of reviews that are sent at once.
const maxReviews = 16

// rightsOf returns the rights of each ServiceAccount to the release records and to the kinds of its
// releases, in the order of their names.
func (d *examination) rightsOf(ctx context.Context, byAccount map[client.ObjectKey][]*helmv2.HelmRelease) []doctor.Rights {
	var all []doctor.Rights
	for account, releases := range byAccount {
		r := doctor.Rights{Namespace: account.Namespace, ServiceAccount: account.Name}
		for _, hr := range releases {
			r.Releases = append(r.Releases, hr.Namespace+"/"+hr.Name)
		}
		switch err := d.Client.Get(ctx, account, &corev1.ServiceAccount{}); {
		case apierrors.IsNotFound(err):
			r.Missing = true
		case err != nil:
			d.unread(doctor.ResourceAccounts, err)
		}
		lacking := d.neededRights(releases)
		if !r.Missing {
			var err error
			if lacking, err = d.deniedRights(ctx, account, lacking); err != nil {
				d.unread(doctor.ResourceRights, err)
			}
			r.Denied = rightTexts(lacking)
		} else {
			for _, hr := range releases {
				// Its objects are not known before it is installed.
				lacking = append(lacking, authorizationv1.ResourceAttributes{Namespace: hr.GetReleaseNamespace()})
			}
		}
		r.Namespaces, r.Cluster = namespacesOf(lacking)
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b doctor.Rights) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ServiceAccount, b.ServiceAccount))
	})
	return all
}

// namespacesOf returns the namespaces of rights, and whether one is to cluster-scoped objects.
func namespacesOf(rights []authorizationv1.ResourceAttributes) (namespaces []string, cluster bool) {
	for _, r := range rights {
		if r.Namespace == "" {
			cluster = true
			continue
		}
		namespaces = append(namespaces, r.Namespace)
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces), cluster
}

// place is a resource of a namespace.
type place struct {
	namespace, group, resource string
	verbs                      string
}

// neededRights returns the rights that releases need: to their records, and to the kinds of their
// newest revision. Kinds that are not served are left out.
func (d *examination) neededRights(releases []*helmv2.HelmRelease) []authorizationv1.ResourceAttributes {
	places := map[place]bool{}
	for _, hr := range releases {
		places[place{namespace: hr.GetStorageNamespace(), resource: "secrets", verbs: "records"}] = true
		for _, o := range view.Inventory(&hr.Status) {
			kind := schema.GroupKind{Group: o.Group, Kind: o.Kind}
			if mapping, err := d.Mapper.RESTMapping(kind, o.Version); err == nil {
				places[place{namespace: o.Namespace, group: o.Group, resource: mapping.Resource.Resource}] = true
			}
		}
	}
	var all []authorizationv1.ResourceAttributes
	for p := range places {
		verbs := []string{"get", "patch"}
		if p.verbs != "" {
			verbs = []string{"get", "list", "create", "update", "delete"}
		}
		for _, verb := range verbs {
			all = append(all, authorizationv1.ResourceAttributes{Namespace: p.namespace, Group: p.group, Resource: p.resource, Verb: verb})
		}
	}
	return all
}

// deniedRights returns the rights that an account does not have.
func (d *examination) deniedRights(ctx context.Context, account client.ObjectKey, rights []authorizationv1.ResourceAttributes) ([]authorizationv1.ResourceAttributes, error) {
	allowed := make([]bool, len(rights))
	errs := parallel.Do(ctx, len(rights), maxReviews, func(i int) (err error) {
		allowed[i], err = d.Allowed(ctx, account, rights[i])
		return err
	})
	var missing []authorizationv1.ResourceAttributes
	for i, right := range rights {
		if errs[i] == nil && !allowed[i] {
			missing = append(missing, right)
		}
	}
	return missing, cmp.Or(errs...)
}

// rightTexts returns one text for each resource, such as "get and patch deployments.apps in web".
func rightTexts(rights []authorizationv1.ResourceAttributes) []string {
	byPlace := map[string][]string{}
	for _, r := range rights {
		resource := schema.GroupResource{Group: r.Group, Resource: r.Resource}.String()
		where := "in the cluster"
		if r.Namespace != "" {
			where = "in " + r.Namespace
		}
		key := fmt.Sprintf("%s %s", resource, where)
		byPlace[key] = append(byPlace[key], r.Verb)
	}
	var all []string
	for where, verbs := range byPlace {
		slices.Sort(verbs)
		verbs = slices.Compact(verbs)
		text := verbs[0]
		for i, v := range verbs[1:] {
			sep := ", "
			if i == len(verbs)-2 {
				sep = " or "
			}
			text += sep + v
		}
		all = append(all, text+" "+where)
	}
	slices.Sort(all)
	return all
}
