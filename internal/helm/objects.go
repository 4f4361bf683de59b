// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
)

// What Helm adds to every object of a release when it applies it, and never to the
// manifest it stores.
const (
	managedByLabel      = "app.kubernetes.io/managed-by"
	managedByHelm       = "Helm"
	nameAnnotation      = "meta.helm.sh/release-name"
	namespaceAnnotation = "meta.helm.sh/release-namespace"
)

// Objects returns the objects of a stored revision, hooks excluded, in the order in
// which they are applied and as they are applied: with what Helm and we add to
// their metadata, and with the way to the server. What could be read comes with the
// error about the rest. Of job it needs what Run needs, but for action, artifact
// and values.
func (r *Runner) Objects(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, version int) ([]*resource.Info, error) {
	redact := newRedactor(job.Secrets)
	run, err := r.observe(ctx, getter, job, redact)
	if err != nil {
		return nil, err
	}
	rel, err := run.config.Releases.Get(job.Desired.Target.Name, version)
	if err != nil {
		return nil, fmt.Errorf("revision %d of release %s: %w", version, job.Desired.Target.Name, err)
	}
	list, err := run.client.objects.build(strings.NewReader(rel.Manifest))
	for _, info := range list {
		if labelErr := run.client.label(info); labelErr != nil {
			return nil, labelErr
		}
		markOwned(info, rel.Name, rel.Namespace)
	}
	if err != nil {
		err = redact.error(fmt.Errorf("objects of revision %d of release %s: %w", version, rel.Name, err))
	}
	return list, err
}

// markOwned adds what Helm knows its objects by.
func markOwned(info *resource.Info, name, namespace string) {
	object, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	object.SetLabels(with(object.GetLabels(), managedByLabel, managedByHelm))
	annotations := with(object.GetAnnotations(), nameAnnotation, name)
	annotations[namespaceAnnotation] = namespace
	object.SetAnnotations(annotations)
}

// with returns a copy with one more entry. The original map may be shared.
func with(all map[string]string, key, value string) map[string]string {
	more := maps.Clone(all)
	if more == nil {
		more = map[string]string{}
	}
	more[key] = value
	return more
}
