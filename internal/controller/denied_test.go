// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// TestDenied: a missing right is explained by the field that selects the identity, and by the remedy.
func TestDenied(t *testing.T) {
	secrets := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New(`User "x" cannot get resource "secrets"`))
	for name, tc := range map[string]struct {
		spec           helmv2.HelmReleaseSpec
		defaultAccount string
		err            error
		want           string
	}{
		"Default": {
			defaultAccount: "tenant", err: fmt.Errorf("listing: %w", secrets),
			want: "Could not read: this release acts as apps/tenant (--default-service-account), which may not read Secrets in apps. " +
				"Nothing was changed. Bind a role to apps/tenant, or set spec.serviceAccountName. Retrying with back-off.",
		},
		"Named": {
			spec: helmv2.HelmReleaseSpec{ServiceAccountName: "tenant", StorageNamespace: "store"}, err: secrets,
			want: "Could not read: this release acts as apps/tenant (spec.serviceAccountName), which may not read Secrets in store. " +
				"Nothing was changed. Bind a role to apps/tenant. Retrying with back-off.",
		},
		"Missing": {
			spec: helmv2.HelmReleaseSpec{ServiceAccountName: "gone"}, err: secrets,
			want: "Could not read: this release acts as apps/gone (spec.serviceAccountName), which does not exist. " +
				"Nothing was changed. Create ServiceAccount apps/gone and bind a role to it. Retrying with back-off.",
		},
		"Controller": {
			err: apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web", errors.New("no")),
			want: "Could not read: this release acts as the controller, which may not read deployments.apps. " +
				"Nothing was changed. Set spec.serviceAccountName, or bind a role to the ServiceAccount of the controller. Retrying with back-off.",
		},
		"OtherCluster": {
			spec: helmv2.HelmReleaseSpec{KubeConfig: elsewhere("value")}, err: secrets,
			want: "Could not read: this release acts as the identity in Secret 'apps/there', which may not read Secrets in apps. " +
				"Nothing was changed. Give that identity the right, or set spec.serviceAccountName. Retrying with back-off.",
		},
		"OtherClusterNamed": {
			spec: helmv2.HelmReleaseSpec{KubeConfig: elsewhere("value"), ServiceAccountName: "gone"}, err: secrets,
			want: "Could not read: this release acts as apps/gone (spec.serviceAccountName) in the cluster of Secret 'apps/there', which may not read Secrets in apps. " +
				"Nothing was changed. Bind a role to apps/gone. Retrying with back-off.",
		},
		"OtherError": {
			defaultAccount: "tenant", err: errors.New(`cannot get resource "secrets"`),
			want: `Could not read: cannot get resource "secrets". Nothing was changed. Retrying with back-off.`,
		},
		"Proxy": {
			defaultAccount: "tenant",
			err:            apierrors.NewGenericServerResponse(403, "get", schema.GroupResource{Resource: "secrets"}, "", "a page", 0, true),
			want:           "Could not read: a page (get secrets). Nothing was changed. Retrying with back-off.",
		},
		"NoDetails": {
			defaultAccount: "tenant", err: &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Message: "no"}},
			want: "Could not read: no. Nothing was changed. Retrying with back-off.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "tenant"}}
			f := &ConnectionFinder{Live: fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(account).Build(), DefaultServiceAccount: tc.defaultAccount}
			hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}, Spec: tc.spec}
			got := f.ExplainDenial(t.Context(), hr, release.BlockedBy(helmv2.ReasonStateError, tc.err, "Could not read"))
			if text := message.Obstacle(got).String(); text != tc.want {
				t.Errorf("got  %q\nwant %q", text, tc.want)
			}
		})
	}
}
