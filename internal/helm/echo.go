// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/readiness"
)

// echo is what the API server answered when an object was written, so that nobody
// need ask once more a moment later.
type echo struct {
	seen readiness.Observation
	// live is the object in the answer; nil if there was none.
	live *unstructured.Unstructured
}

// observed returns what an answer or event with an object says about that object. A
// nil object stands for an answer that there is none.
func observed(source readiness.Source, object *unstructured.Unstructured) readiness.Observation {
	if object == nil {
		return readiness.Observation{Source: source, Absent: true}
	}
	return readiness.Observation{Source: source, UID: string(object.GetUID()), Version: object.GetResourceVersion()}
}

// learn remembers what the API server answered when an object was written.
func (c *client) learn(info *resource.Info, answer runtime.Object) {
	live, ok := answer.(*unstructured.Unstructured)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remember(info, echo{seen: observed(readiness.Write, live), live: live})
}

// learnAll remembers the objects that Helm wrote, each of which holds the answer.
func (c *client) learnAll(list kube.ResourceList) {
	for _, info := range list {
		c.learn(info, info.Object)
	}
}

// learnDeleted remembers what the API server answered when an object was deleted.
func (c *client) learnDeleted(info *resource.Info, answer runtime.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch answer := answer.(type) {
	case *metav1.Status:
		c.remember(info, echo{seen: observed(readiness.Delete, nil)})
	case *unstructured.Unstructured:
		seen := observed(readiness.Delete, answer)
		seen.Deletion = deletion(info, answer)
		c.remember(info, echo{seen: seen, live: answer})
	}
}

func (c *client) remember(info *resource.Info, e echo) {
	if c.echoes == nil {
		c.echoes = map[*resource.Info]echo{}
	}
	c.echoes[info] = e
}

// recall returns what is known of an object, once: what comes after that is not
// known by it.
func (c *client) recall(info *resource.Info) (echo, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.echoes[info]
	delete(c.echoes, info)
	return e, ok
}

// deletion describes the object in the answer to its deletion.
func deletion(info *resource.Info, answer *unstructured.Unstructured) readiness.Deletion {
	grace := answer.GetDeletionGracePeriodSeconds()
	return readiness.Deletion{
		Marked: answer.GetDeletionTimestamp() != nil,
		Held:   len(answer.GetFinalizers()) > 0 || grace != nil && *grace > 0,
		Core:   info.Mapping.GroupVersionKind.Group == "",
	}
}
