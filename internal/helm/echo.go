// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"
)

// echo is what the API server answered when an object was written, so that nobody
// need ask once more a moment later.
type echo struct {
	// live is the object as it is then; nil if it is gone.
	live *unstructured.Unstructured
}

// learn remembers what the API server answered when an object was written.
func (c *client) learn(info *resource.Info, answer runtime.Object) {
	live, ok := answer.(*unstructured.Unstructured)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remember(info, echo{live: live})
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
		c.remember(info, echo{})
	case *unstructured.Unstructured:
		if !lingers(info, answer) {
			answer = nil
		}
		c.remember(info, echo{live: answer})
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

// lingers reports whether an object that is the answer to its deletion may be
// there still. Some core kinds are answered with the object although it is gone;
// it is marked as being deleted if it has to wait for anything. What other API
// servers mean by such an answer is not known.
func lingers(info *resource.Info, answer *unstructured.Unstructured) bool {
	object, err := meta.Accessor(answer)
	return err != nil || info.Mapping.GroupVersionKind.Group != "" || object.GetDeletionTimestamp() != nil || len(object.GetFinalizers()) > 0
}
