// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package hookjob

import (
	"errors"
	"fmt"
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/bounded"
)

const batchVersion = "batch/v1"

// parse parses a manifest, which must be a map. Integers stay integers. Errors may quote the
// manifest.
func parse(manifest string) (map[string]any, error) {
	raw, err := bounded.Manifest().ToJSON([]byte(manifest))
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := utiljson.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, errors.New("the manifest is empty")
	}
	return object, nil
}

// read decodes a part of an object into an API type. The result must only be read: it lacks fields
// that the type does not have.
func read(object any, into any) error {
	raw, err := utiljson.Marshal(object)
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(raw, into)
}

// unsupported returns the rejection of a hook that cannot be run as a Job.
func unsupported(in Input, h Hook, why string) *Rejection {
	return &Rejection{
		Reason:  opsv1alpha1.ReasonHookNotSupported,
		Message: fmt.Sprintf("hook %s of %s cannot be run as a Job: %s", printable(h.Name), in.Release.title(), why),
	}
}

// makeStep returns the step with the Job of one hook.
func makeStep(in Input, h Hook, index int, selectors []selector) (Step, error) {
	object, err := parse(h.Manifest)
	if err != nil {
		// The error would quote the manifest.
		return Step{}, unsupported(in, h, "its manifest is not an object in YAML")
	}
	meta := section(object, "metadata")
	if ns, ok := meta["namespace"]; ok && ns != in.Release.Namespace && ns != "" && ns != nil {
		return Step{}, &Rejection{
			Reason:  opsv1alpha1.ReasonNamespaceMismatch,
			Message: fmt.Sprintf("hook %s is in another namespace than its release, which is in %s", printable(h.Name), in.Release.Namespace),
		}
	}
	var spec map[string]any
	switch kind := object["kind"]; {
	case kind == kindJob && object["apiVersion"] == batchVersion:
		spec = section(object, "spec")
	case kind == kindPod && object["apiVersion"] == "v1":
		if spec, err = wrap(in, h, object); err != nil {
			return Step{}, err
		}
	default:
		return Step{}, unsupported(in, h, "it is neither a Job of batch/v1 nor a Pod of v1")
	}
	var known batchv1.JobSpec
	if err := read(spec, &known); err != nil {
		return Step{}, unsupported(in, h, "it is not a valid Job")
	}
	deadline := adjust(in, spec, known)
	clean(in, h, spec, selectors)
	reserved := 0
	if known.CompletionMode != nil && *known.CompletionMode == batchv1.IndexedCompletion {
		reserved = indexLength(known.Completions)
	}
	job := map[string]any{
		"apiVersion": batchVersion,
		"kind":       kindJob,
		"metadata":   metadata(in, h, meta, jobName(in.Operation, index, in.Parameters.Event != "", reserved)),
		"spec":       spec,
	}
	// Of Jobs only: a digest of a Secret would confirm a guess of its content.
	section(section(job, "metadata"), "annotations")[opsv1alpha1.AnnotationHookDigest] = digest(h)
	return Step{Hook: h.Name, Events: h.Events, Digest: digest(h), Job: &unstructured.Unstructured{Object: job}, Deadline: deadline}, nil
}

// wrap returns the spec of a Job for a Pod. It rejects a Pod with restartPolicy Always, which a Job
// does not allow.
func wrap(in Input, h Hook, pod map[string]any) (map[string]any, error) {
	meta, template := section(pod, "metadata"), map[string]any{}
	for _, key := range []string{"labels", "annotations"} {
		if m, ok := meta[key]; ok {
			template[key] = m
		}
	}
	spec := section(pod, "spec")
	var known corev1.PodSpec
	if err := read(spec, &known); err != nil {
		return nil, unsupported(in, h, "it is not a valid Pod")
	}
	if p := known.RestartPolicy; p != corev1.RestartPolicyNever && p != corev1.RestartPolicyOnFailure {
		return nil, unsupported(in, h, "it is a Pod without restartPolicy Never or OnFailure, which never completes")
	}
	spec["restartPolicy"] = string(corev1.RestartPolicyNever)
	wrapped := map[string]any{"template": map[string]any{"metadata": template, "spec": spec}}
	if known.ActiveDeadlineSeconds != nil {
		wrapped["activeDeadlineSeconds"] = *known.ActiveDeadlineSeconds
	}
	return wrapped, nil
}

// adjust sets the fields of a Job that the Operation determines, and returns its deadline.
func adjust(in Input, spec map[string]any, known batchv1.JobSpec) time.Duration {
	// The API server sets both.
	delete(spec, "selector")
	delete(spec, "manualSelector")
	// Kubernetes must not delete a Job before its result is recorded.
	delete(spec, "ttlSecondsAfterFinished")
	spec["suspend"] = true
	switch limit := in.Parameters.BackoffLimit; {
	case limit != nil:
		spec["backoffLimit"] = int64(*limit)
	case known.BackoffLimit == nil && known.BackoffLimitPerIndex == nil:
		// The default of the API is six, while Helm fails at the first failure. A chart that
		// sets a limit per index keeps that.
		spec["backoffLimit"] = int64(0)
	}
	deadline := int64(math.MaxInt64)
	if in.Timeout > 0 {
		deadline = max(1, int64(in.Timeout/time.Second))
	}
	for _, other := range []*int64{in.Parameters.ActiveDeadlineSeconds, known.ActiveDeadlineSeconds} {
		if other != nil {
			deadline = min(deadline, *other)
		}
	}
	if deadline == math.MaxInt64 {
		return 0
	}
	spec["activeDeadlineSeconds"] = deadline
	return time.Duration(min(deadline, int64(math.MaxInt64/time.Second))) * time.Second
}
