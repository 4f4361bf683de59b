// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Kubeconfig returns a kubeconfig with a server, more fields of its cluster and of its user in flow
// style, and more text.
func Kubeconfig(server, cluster, user, more string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: a\n"+
		"contexts: [{name: a, context: {cluster: a, user: a}}]\n"+
		"clusters: [{name: a, cluster: {server: %q%s}}]\nusers: [{name: a, user: {%s}}]\n%s", server, cluster, user, more)
}

// KubeconfigSecret returns the Secret of a kubeconfig.
func KubeconfigSecret(namespace, name, kubeconfig string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{"value": kubeconfig}}
}

// Elsewhere makes a release use the kubeconfig in the Secret of its name.
func Elsewhere(hr *helmv2.HelmRelease) {
	hr.Spec.KubeConfig = &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: hr.Name}}
}

func kubeconfigs() []Attack {
	const server = "https://127.0.0.1:1"
	config := func(name, text string, says ...string) Attack {
		return Attack{
			Name: "kubeconfigs/" + name, Secret: map[string]string{"value": text}, Edit: Elsewhere,
			Outcome: rejected(helmv2.ReasonRESTClientError, says...),
		}
	}
	field := func(name, cluster, user, says string) Attack {
		return config(name, Kubeconfig(server, cluster, user, ""), says, "is not allowed")
	}
	var contexts strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&contexts, "- {name: c%d, context: {}}\n", i)
	}
	const large = "the kubeconfig is too large: the content has more than "
	worst := config("aliases", longAlias(300<<10, 200<<10), large+"8388608 bytes "+expansion)
	worst.Worst = true
	return []Attack{
		worst,
		config("exponential-aliases", Kubeconfig(server, "", "", laughs()), large+"500000 keys and values "+expansion),
		config("deep", Kubeconfig(server, "", "", "extensions: "+strings.Repeat("[", 300_000)), "the content is not a valid kubeconfig"),
		config("contexts", "apiVersion: v1\nkind: Config\ncontexts:\n"+contexts.String(), "current-context names no context"),
		field("exec", "", "exec: {command: /bin/sh, apiVersion: client.authentication.k8s.io/v1}", "users[].user.exec"),
		field("token-file", "", "tokenFile: /proc/self/environ", "users[].user.tokenFile"),
		field("authority-file", ", certificate-authority: /etc/passwd", "", "clusters[].cluster.certificate-authority"),
		field("unverified", ", insecure-skip-tls-verify: true", "", "clusters[].cluster.insecure-skip-tls-verify"),
		field("impersonation", "", "as: system:admin", "users[].user.as"),
	}
}
