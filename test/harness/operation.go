// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

// DocumentedOperation is the example Operation in the documentation of the engine helmHookJob,
// except for its namespace.
const DocumentedOperation = `
apiVersion: ops.vworkspace.io/v1alpha1
kind: Operation
metadata:
  name: nextcloud-myteam-pre-upgrade-2026-05-28
  namespace: org-myteam
spec:
  targetRef:
    apiVersion: apps.vworkspace.io/v1alpha1
    kind: ApplicationInstance
    name: nextcloud-myteam
  type: Migration
  engine: helmHookJob
  parameters:
    hookName: nextcloud-myteam-pre-upgrade
    activeDeadlineSeconds: 1800
    backoffLimit: 1
`
