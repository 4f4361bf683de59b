// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
)

// TestEndsWithOld: quota, ports and webhooks may be freed by the uninstall, all else
// is refused.
func TestEndsWithOld(t *testing.T) {
	t.Parallel()
	pods := apischema.GroupResource{Resource: "pods"}
	invalid := func(fields ...string) error {
		err := apierrors.NewInvalid(apischema.GroupKind{Kind: "Service"}, "web", nil)
		err.ErrStatus.Details.Causes = nil
		for _, f := range fields {
			err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
				Type: metav1.CauseTypeFieldValueInvalid, Field: f, Message: "Invalid value: 1: provided port is already allocated",
			})
		}
		return err
	}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"Quota":       {apierrors.NewForbidden(pods, "web", errors.New("exceeded quota: small, requested: pods=1")), true},
		"NoLimits":    {apierrors.NewForbidden(pods, "web", errors.New("failed quota: small: must specify cpu")), false},
		"Rights":      {apierrors.NewForbidden(pods, "web", errors.New("no")), false},
		"Webhook":     {apierrors.NewBadRequest(`admission webhook "a.example.com" denied the request: no`), true},
		"Port":        {invalid("spec.ports[0].nodePort"), true},
		"Address":     {invalid("spec.clusterIPs[0]"), true},
		"PortAndName": {invalid("spec.ports[0].nodePort", "spec.ports[0].name"), false},
		"NoCause":     {invalid(), false},
		"Security":    {apierrors.NewForbidden(pods, "web", errors.New(`violates PodSecurity "restricted:latest": privileged`)), false},
		"NoAnswer":    {errors.New("connection refused"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := endsWithOld(tc.err); got != tc.want {
				t.Errorf("%v passes: %t", tc.err, got)
			}
		})
	}
}
