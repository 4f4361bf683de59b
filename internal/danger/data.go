// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package danger

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// deletions finds deleted objects with data: claims and volumes, their owners, Namespaces and CRDs.
func (w *world) deletions() {
	for k, c := range w.changes {
		if !c.deleted {
			continue
		}
		was := w.before.by[k]
		if was == nil {
			// A leftover of a failed revision.
			was = &object{key: k, content: map[string]any{}}
		}
		class, reason := deletion(was, c.created)
		if reason != "" {
			w.report(class, c.APIVersion, c.Kind, c.Namespace, c.Name, reason)
		}
	}
}

// deletion returns what is lost with an object; empty if it holds no data.
func deletion(o *object, recreated bool) (class v1alpha1.DangerClass, reason string) {
	class = v1alpha1.DataLoss
	switch {
	case o.is(claim), o.is("PersistentVolume"):
		if recreated {
			return class, "it is deleted and created anew, without its data"
		}
		return class, "it is deleted, and its data may be lost"
	case o.is("Namespace"):
		return class, "it is deleted with all objects in it"
	case o.is(crd):
		return class, "it is deleted with all objects of its kind"
	case o.is(statefulSet) && len(list(o.content, "spec", "volumeClaimTemplates")) > 0:
		switch {
		case text(o.content, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted") == "Delete":
			return class, "it is deleted, and its claims with it"
		case recreated:
			return v1alpha1.Outage, "it is deleted and created anew: all its Pods stop, and its claims stay"
		}
		return class, "it is deleted: its claims stay, and no Pod uses their data"
	case o.isCustom() && hasStorage(o.content["spec"]):
		return class, "it is deleted, and its operator may delete its storage"
	}
	return "", ""
}

// crdVersions finds versions of CRDs that are dropped although objects are stored in them.
func (w *world) crdVersions() {
	w.pairs(func(was, is *object) {
		if !is.is(crd) {
			return
		}
		stored := texts(was.content, "status", "storedVersions")
		var served []string
		for _, v := range list(was.content, "spec", "versions") {
			if v["storage"] == true && len(stored) == 0 {
				stored = append(stored, text(v, "name"))
			}
		}
		for _, v := range list(is.content, "spec", "versions") {
			served = append(served, text(v, "name"))
		}
		for _, v := range stored {
			if !slices.Contains(served, v) {
				w.add(v1alpha1.DataLoss, is, "it drops version %s, in which objects are stored", v)
			}
		}
	})
}

// storage finds custom resources that no longer ask for storage: their operators replace Pods by some
// that have no data.
func (w *world) storage() {
	w.pairs(func(was, is *object) {
		if is.isCustom() && hasStorage(was.content["spec"]) && !hasStorage(is.content["spec"]) {
			w.add(v1alpha1.DataLoss, is, "it no longer asks for storage, and its data is left behind")
		}
	})
}

// hasStorage reports whether a field of a custom resource asks for volumes: it has a template of claims, or
// a size of storage.
func hasStorage(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			inner, _ := field.(map[string]any)
			if strings.Contains(name, "olumeClaim") && name != "persistentVolumeClaim" && plain(field) != nil ||
				(name == "storage" || name == "volume" || name == "persistence") && inner["size"] != nil || hasStorage(field) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasStorage)
	}
	return false
}
