// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
)

// TestEndsWithOld: quota, ports and webhooks may be freed by the uninstall, all else
// is refused.
func TestEndsWithOld(t *testing.T) {
	t.Parallel()
	service := &resource.Info{Name: "web", Mapping: &meta.RESTMapping{GroupVersionKind: apischema.GroupVersionKind{Version: "v1", Kind: "Service"}}}
	widget := &resource.Info{Name: "web", Mapping: &meta.RESTMapping{GroupVersionKind: apischema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Service"}}}
	pods := apischema.GroupResource{Resource: "pods"}
	invalid := func(fields ...string) error {
		err := apierrors.NewInvalid(apischema.GroupKind{Kind: "Service"}, "web", nil)
		err.ErrStatus.Details.Causes = nil
		for _, f := range fields {
			err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: f})
		}
		return err
	}
	for name, tc := range map[string]struct {
		info *resource.Info
		err  error
		want bool
	}{
		"Quota":       {service, apierrors.NewForbidden(pods, "web", errors.New("exceeded quota: small, requested: pods=1")), true},
		"NoLimits":    {service, apierrors.NewForbidden(pods, "web", errors.New("failed quota: small: must specify cpu")), false},
		"Rights":      {service, apierrors.NewForbidden(pods, "web", errors.New("no")), false},
		"Webhook":     {service, apierrors.NewBadRequest(`admission webhook "a.example.com" denied the request: no`), true},
		"Port":        {service, invalid("spec.ports[0].nodePort"), true},
		"Address":     {service, invalid("spec.clusterIPs[0]"), true},
		"PortAndName": {service, invalid("spec.ports[0].nodePort", "spec.ports[0].name"), false},
		"NoCause":     {service, invalid(), false},
		"OtherKind":   {widget, invalid("spec.ports[0].nodePort"), false},
		"NoAnswer":    {service, errors.New("connection refused"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := endsWithOld(tc.info, tc.err); got != tc.want {
				t.Errorf("%v passes: %t", tc.err, got)
			}
		})
	}
}
