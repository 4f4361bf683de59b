// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/pintle-dev/pintle/internal/diagnosis"
	"github.com/pintle-dev/pintle/internal/release"
)

// Failing returns the diagnosis of the first object whose Pods have a container that has failed again and
// again since a time, although the object may be ready now; nil if there is none. namespace is the namespace
// of the release. Objects whose Pods cannot be read are left out.
func (e *Reader) Failing(ctx context.Context, objects []release.UnreadyObject, namespace string, since time.Time) *release.Diagnosis {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for i := range objects {
		o := &objects[i]
		// The readiness of a Job shows its failures.
		if !hasPods(o.Object) || o.Object.Kind == "Job" {
			continue
		}
		options, selects := selection(o)
		if !selects {
			continue
		}
		pods, err := e.from.pods(ctx, o.Object.Namespace, options)
		if err != nil {
			continue
		}
		x := &inspection{reader: e, suspect: o, request: release.DiagnosisRequest{Namespace: namespace}}
		x.facts = diagnosis.Facts{
			Kind: o.Object.Kind, Namespace: o.Object.Namespace, Name: o.Object.Name, Home: namespace,
			Pods: slices.DeleteFunc(pods, func(p corev1.Pod) bool { return !belongsTo(&p, o) }),
		}
		if found := diagnosis.FindFailing(x.facts, since); found != nil {
			return x.diagnosis(*found)
		}
	}
	return nil
}
