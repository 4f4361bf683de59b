// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestUntilWatches: a wait looks again after a change before the watch began, and after each one
// since.
func TestUntilWatches(t *testing.T) {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "awaited"}}
	events := watch.NewRaceFreeFake()
	watches := 0
	e := &Environment{Client: fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Watch: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
			watches++
			switch watches {
			case 1:
				return nil, errors.New("the kind is not served")
			default:
				return events, nil
			}
		},
	}).Build()}
	looks := 0
	err := e.Until(t.Context(), "changes", func() (string, bool) {
		switch looks++; looks {
		case 1:
			// The first look precedes the watch.
		case 2:
			events.Modify(cm)
		default:
			return "", true
		}
		return "", false
	}, cm)
	if err != nil || looks != 3 || watches != 2 {
		t.Errorf("%d looks, %d watches, error %v", looks, watches, err)
	}
}
