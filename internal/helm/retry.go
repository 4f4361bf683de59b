// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"

	"github.com/go-logr/logr"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/release"
)

// retriable is a connection whose requests can be repeated.
type retriable interface {
	// Server names the API server for people.
	Server() string
	// WithRetrier returns a connection that repeats requests.
	WithRetrier(r *apiretry.Retrier) genericclioptions.RESTClientGetter
	// Shared returns the connection that WithRetrier was called on.
	Shared() genericclioptions.RESTClientGetter
}

// withRetries returns a connection for one job that repeats its requests, and what
// repeats them: nil if the connection cannot.
func (r *Runner) withRetries(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job) (genericclioptions.RESTClientGetter, *apiretry.Retrier) {
	connection, ok := getter.(retriable)
	if !ok {
		return getter, nil
	}
	retrier := apiretry.New(ctx, apiretry.Options{
		Now: r.now, Server: connection.Server(), Timeout: release.TimeoutOf(job.Action), ReleaseSlot: job.Idle, Log: logr.FromContextOrDiscard(ctx),
	})
	return connection.WithRetrier(retrier), retrier
}

// shared returns the connection that jobs of an identity have in common.
func shared(getter genericclioptions.RESTClientGetter) genericclioptions.RESTClientGetter {
	if connection, ok := getter.(retriable); ok {
		return connection.Shared()
	}
	return getter
}

// outageOf returns why a job that failed was interrupted; nil if it was not.
func outageOf(r *apiretry.Retrier, err error) *release.Outage {
	outage := r.Outage()
	if err == nil || outage == nil {
		return nil
	}
	return &release.Outage{Server: outage.Server, Since: outage.Since, Cause: outage.Cause}
}

// ownWebhooks names the admission webhooks that the objects of the release configure.
func ownWebhooks(lists ...kube.ResourceList) []string {
	var names []string
	for _, list := range lists {
		for _, info := range list {
			object, ok := info.Object.(*unstructured.Unstructured)
			if !ok || info.Mapping.GroupVersionKind.Group != "admissionregistration.k8s.io" {
				continue
			}
			webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
			for _, w := range webhooks {
				if webhook, ok := w.(map[string]any); ok {
					name, _ := webhook["name"].(string)
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// suffixLength is that of the names that API servers make of metadata.generateName, and
// maxGenerated how much of it they keep.
const (
	suffixLength = 5
	maxGenerated = 63 - suffixLength
)

// markAttempt annotates the objects of a hook with the attempt that creates them, so that
// an object whose creation was not answered is recognized. What the API server would name
// is named here, for the same reason.
func markAttempt(list kube.ResourceList, attempt string) error {
	for _, info := range list {
		object, err := meta.Accessor(info.Object)
		if err != nil {
			return err
		}
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[helmv2.AnnotationAttempt] = attempt
		object.SetAnnotations(annotations)
		if base := object.GetGenerateName(); info.Name == "" && base != "" {
			info.Name = base[:min(len(base), maxGenerated)] + rand.String(suffixLength)
			object.SetName(info.Name)
		}
	}
	return nil
}
