// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pintle-dev/pintle/test/harness"
)

// definitions returns a folder with the needed CRDs and extra further ones. Without further ones it
// is the folder of the needed ones.
func definitions(dir string, extra int) (string, error) {
	needed := harness.CRDs("")
	if extra == 0 {
		return needed, nil
	}
	folder := filepath.Join(dir, "crds")
	if err := os.CopyFS(folder, os.DirFS(needed)); err != nil {
		return "", err
	}
	var all strings.Builder
	for i := range extra {
		fmt.Fprintf(&all, extraCRD, i, i/10)
	}
	return folder, os.WriteFile(filepath.Join(folder, "extra.yaml"), []byte(all.String()), 0o600)
}

// extraCRD is a small definition, ten of which share a group: a cluster with many
// definitions has many groups, each of which costs discovery a document.
const extraCRD = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things%[1]d.g%[2]d.bench.example.com
spec:
  group: g%[2]d.bench.example.com
  scope: Namespaced
  names: {kind: Thing%[1]d, listKind: Thing%[1]dList, plural: things%[1]d, singular: thing%[1]d}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                size: {type: integer, minimum: 0}
                text: {type: string, maxLength: 100}
            status:
              type: object
              x-kubernetes-preserve-unknown-fields: true
`
