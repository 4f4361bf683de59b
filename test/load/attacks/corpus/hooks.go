// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package corpus

// hooks are charts whose hooks would delete live objects that no hook has made.
func hooks() []Attack {
	namespace := func(event string) func() []byte {
		return file("templates/hook.yaml", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ .Release.Namespace }}\n  annotations: {helm.sh/hook: "+event+"}\n")
	}
	return []Attack{
		{Name: "hooks/namespace", Archive: namespace("pre-install"), Outcome: failed("templates/hook.yaml", "a Namespace holds data")},
		{Name: "hooks/namespace-afterwards", Archive: namespace("post-install"), Outcome: failed("templates/hook.yaml", "a Namespace holds data")},
	}
}
