// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package hookjob

import (
	"fmt"
	"strings"
	"testing"
)

// TestOrder: hooks run by weight and name, but what a Job refers to goes before it.
func TestOrder(t *testing.T) {
	t.Parallel()
	const pod = "spec: {template: {spec: {serviceAccountName: z-account, imagePullSecrets: [{name: z-pull}], volumes: [" +
		"{name: a, configMap: {name: z-config}}, {name: b, secret: {secretName: z-secret}}, {name: c, persistentVolumeClaim: {claimName: z-claim}}, {name: d, configMap: {name: z-optional, optional: true}}], " +
		"containers: [{name: a, envFrom: [{secretRef: {name: z-env}}]}]}}}\n"
	const binding = "roleRef: {kind: Role, name: z-role}\nsubjects: [{kind: ServiceAccount, name: z-account}]\n"
	for reason, tc := range map[string]struct {
		// hooks are KIND NAME WEIGHT EVENTS, with a manifest after a bar.
		hooks []string
		want  string
	}{
		"no hook":     {nil, ""},
		"as in Helm":  {[]string{"Job b 0 install", "Job a 1 install", "ConfigMap a 0 install", "Job a 0 install", "Pod a 0 install"}, "a a a b a"},
		"the account": {[]string{"ServiceAccount z-account 0 install", "Job a 0 install|" + pod}, "z-account a"},
		"all that a Pod needs": {
			[]string{
				"Job a 0 install|" + pod, "ConfigMap z-config 0 install", "Secret z-secret 0 install", "Secret z-pull 0 install", "PersistentVolumeClaim z-claim 0 install",
				"Secret z-env 0 install", "ConfigMap z-optional 0 install", "ConfigMap b 0 install", "Job aa 0 install|" + pod,
			},
			"z-pull z-config z-secret z-claim z-optional z-env a aa b",
		},
		"rights": {
			[]string{
				"Job a 0 install|" + pod, "RoleBinding b 0 install|" + binding, "Role z-role 0 install", "ServiceAccount z-account 0 install", "ClusterRoleBinding z-all 0 install|" + binding,
				"RoleBinding of-other 0 install|subjects: [{kind: ServiceAccount, name: z-account, namespace: other}]\n", "Role other 0 install",
			},
			"z-account z-role b z-all a of-other other",
		},
		"both later":         {[]string{"ServiceAccount z-account 2 install", "Job a 2 install|" + pod, "Job b 1 install"}, "b z-account a"},
		"another weight":     {[]string{"Job a 0 install|" + pod, "ServiceAccount z-account 1 install"}, "a z-account"},
		"another event":      {[]string{"Job a 0 install|" + pod, "ServiceAccount z-account 0 upgrade"}, "a z-account"},
		"one of two events":  {[]string{"Job a 0 install|" + pod, "ServiceAccount z-account 0 upgrade,install"}, "z-account a"},
		"another kind":       {[]string{"Job a 0 install|" + pod, "ServiceAccount z-config 0 install"}, "a z-config"},
		"the name of a Job":  {[]string{"Job a 0 install|" + pod, "Job z-config 0 install"}, "a z-config"},
		"an invalid Job":     {[]string{"Job a 0 install|spec: 1\n", "Job b 0 install|[", "ServiceAccount z-account 0 install"}, "a b z-account"},
		"an invalid binding": {[]string{"Job a 0 install|" + pod, "RoleBinding z 0 install|subjects: 1\n"}, "a z"},
	} {
		var hooks []Hook
		for _, text := range tc.hooks {
			head, manifest, _ := strings.Cut(text, "|")
			var h Hook
			var events string
			if _, err := fmt.Sscan(head, &h.Kind, &h.Name, &h.Weight, &events); err != nil {
				t.Fatal(err)
			}
			h.Events, h.Manifest = strings.Split(events, ","), manifest
			hooks = append(hooks, h)
		}
		var got []string
		for _, i := range Order(hooks, "prod") {
			got = append(got, hooks[i].Name)
		}
		if all := strings.Join(got, " "); all != tc.want {
			t.Errorf("%s: %s, want %s", reason, all, tc.want)
		}
	}
}
