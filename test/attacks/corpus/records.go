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

// Forgery are objects of an attacker who may write Secrets only.
type Forgery struct {
	// Record is a release record that the controller has not written.
	Record *corev1.Secret
	// Bystander is an object that the record contains and that is of no release. It must stay.
	Bystander *corev1.ConfigMap
	// Never are objects that only the record contains. They must never exist.
	Never []client.Object
}

// storedRecords are forged records: with a label and an attempt that look like those of the
// controller, with a hook for each action, and with an object of others that the release would drop.
func storedRecords() []Attack {
	var all []Attack
	for _, status := range []string{"deployed", "pending-upgrade", "uninstalling", "superseded"} {
		all = append(all, Attack{
			Name:  "records/" + status,
			Worst: status == "deployed",
			Forge: func(namespace, name string) Forgery { return forge(namespace, name, status) },
		})
	}
	return all
}

func forge(namespace, name, status string) Forgery {
	const uid = "00000000-0000-0000-0000-000000000001"
	configMap := func(suffix string) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + suffix},
		}
	}
	f := Forgery{Bystander: configMap("-bystander"), Never: []client.Object{configMap("-forged"), configMap("-hook")}}
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
		"manifest": "---\n" + text(f.Bystander) + "---\n" + text(f.Never[0]),
		"hooks": []any{map[string]any{
			"name": name + "-hook", "kind": "ConfigMap", "path": "forged/templates/hook.yaml", "manifest": text(f.Never[1]),
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
	f.Record = &corev1.Secret{
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
	return f
}
