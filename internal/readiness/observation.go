// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// ObservationOf returns the observation of the object in an answer or event. A nil object stands
// for the answer that no object has the name.
func ObservationOf(source Source, object *unstructured.Unstructured) Observation {
	if object == nil {
		return Observation{Source: source, Absent: true}
	}
	return Observation{Source: source, UID: string(object.GetUID()), Version: object.GetResourceVersion()}
}

// DeletionOf describes the object in the answer to its deletion.
func DeletionOf(group string, object *unstructured.Unstructured) Deletion {
	grace := object.GetDeletionGracePeriodSeconds()
	return Deletion{
		Marked: object.GetDeletionTimestamp() != nil,
		Held:   len(object.GetFinalizers()) > 0 || grace != nil && *grace > 0,
		Core:   group == "",
	}
}
