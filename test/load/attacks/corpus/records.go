// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// storedRecords are forged records, by an attacker who may write Secrets only: with a label and an
// attempt that look like those of the controller, with a hook for each action, and with an object of
// others that the release would drop.
func storedRecords() []Attack {
	var all []Attack
	for _, status := range []string{"deployed", "pending-upgrade", "uninstalling", "superseded"} {
		all = append(all, Attack{
			Name:    "records/" + status,
			Worst:   status == "deployed",
			Setting: func(p Place) Setting { return forge(p.Namespace, p.Name, status) },
		})
	}
	return all
}

// forge returns a record with a ConfigMap of others, and with two that only the record contains.
func forge(namespace, name, status string) Setting {
	const uid = "00000000-0000-0000-0000-000000000001"
	configMap := func(suffix string) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + suffix},
		}
	}
	bystander, forged, hook := configMap("-bystander"), configMap("-forged"), configMap("-hook")
	text := func(o any) string {
		raw, err := json.Marshal(o)
		must(err)
		return string(raw) + "\n"
	}
	hour := "2020-01-01T00:00:00Z"
	record, err := json.Marshal(map[string]any{
		"name": name, "namespace": namespace, "version": 1, "config": map[string]any{},
		"info":     map[string]any{"first_deployed": hour, "last_deployed": hour, "status": status, "description": "Install complete"},
		"chart":    map[string]any{"metadata": map[string]any{"apiVersion": "v2", "name": "forged", "version": "1.0.0"}},
		"manifest": "---\n" + text(bystander) + "---\n" + text(forged),
		"hooks": []any{map[string]any{
			"name": name + "-hook", "kind": "ConfigMap", "path": "forged/templates/hook.yaml", "manifest": text(hook),
			"events": []string{"pre-install", "pre-upgrade", "pre-rollback", "pre-delete", "post-delete", "test"},
		}},
	})
	must(err)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err = w.Write(record)
	must(err)
	must(w.Close())
	attempt := fmt.Sprintf(`{"id":"%s.1.abcdefgh","run":1,"action":"upgrade","inputs":{"chart":"","values":"","target":{"name":"%s","namespace":"%s","storageNamespace":"%s"}}}`,
		uid, name, namespace, namespace)
	stored := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "sh.helm.release.v1." + name + ".v1",
			Labels: map[string]string{
				"name": name, "owner": "helm", "version": "1", "status": status, "createdAt": "1577836800", helmv2.LabelRevision: uid + ".1",
			},
			Annotations: map[string]string{helmv2.AnnotationAttempt: attempt, helmv2.AnnotationSeal: "v1.AAAA"},
		},
		Type: "helm.sh/release.v1",
		Data: map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(zipped.Bytes()))},
	}
	return Setting{Before: []client.Object{stored}, Bystanders: []client.Object{bystander}, Never: []client.Object{forged, hook}}
}
