// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"path/filepath"
	"strings"
	"testing"

	helmchart "helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// nextcloud is the chart of the example in the engine's documentation, with an image of the node.
// Its command prints its environment.
const nextcloud = `apiVersion: v1
kind: ServiceAccount
metadata: {name: {{ .Release.Name }}}
---
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}}
stringData: {admin-user: admin, admin-password: hunter22}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-{{ .Release.Name }}}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
  storageClassName: ""
  volumeName: {{ .Release.Namespace }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-pre-upgrade
  annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}
spec:
  template:
    spec:
      serviceAccountName: {{ .Release.Name }}
      restartPolicy: Never
      containers:
      - name: pre-upgrade
        image: {{ .Values.image }}
        command: ["/bin/sh", "-c"]
        args:
        - |
          php() { echo "php $*" | tee -a /var/www/html/done; }
          php occ maintenance:repair --include-expensive
          echo "as $NEXTCLOUD_ADMIN_USER with $NEXTCLOUD_ADMIN_PASSWORD"
        env:
        - { name: NEXTCLOUD_ADMIN_USER, valueFrom: { secretKeyRef: { name: {{ .Release.Name }}, key: admin-user } } }
        - { name: NEXTCLOUD_ADMIN_PASSWORD, valueFrom: { secretKeyRef: { name: {{ .Release.Name }}, key: admin-password } } }
        volumeMounts:
        - { name: nextcloud-data, mountPath: /var/www/html }
      volumes:
      - name: nextcloud-data
        persistentVolumeClaim:
          claimName: data-{{ .Release.Name }}
`

// volume makes a folder of the machine a volume of the test's namespace.
func (w world) volume() {
	w.Helper()
	kind := corev1.HostPathDirectoryOrCreate
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}, Spec: corev1.PersistentVolumeSpec{
		AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{
			Path: filepath.Join(w.TempDir(), "data"), Type: &kind,
		}},
	}}
	w.Must(env.Client.Create(w.Context(), pv))
}

// TestOperationDocument: the example of the engine's documentation works.
func TestOperationDocument(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.volume()
	owner := w.ApplicationInstance("nextcloud-myteam")
	hr := w.releaseOf(&helmchart.Chart{
		Metadata:  &helmchart.Metadata{APIVersion: "v2", Name: "nextcloud", Version: "5.0.0"},
		Templates: []*helmchart.File{{Name: "templates/all.yaml", Data: []byte(nextcloud)}},
	}, "nextcloud-myteam", values{"image": image}, func(hr *helmv2.HelmRelease) {
		hr.OwnerReferences = []metav1.OwnerReference{owner}
	})
	w.UntilReady(hr)

	o := &unstructured.Unstructured{}
	w.Must(yaml.Unmarshal([]byte(strings.ReplaceAll(harness.DocumentedOperation, "org-myteam", w.Namespace)), &o.Object))
	op := w.CreateOperation(o)
	w.ends(op, opsv1alpha1.PhaseSucceeded, "", new(int32))
	w.operationMessage(op, opsv1alpha1.ConditionSucceeded, "succeeded")
	w.logsAre(op, "pre-upgrade", "php occ maintenance:repair --include-expensive\nas admin with ***")
	w.revision(hr, 1, "deployed")

	pod := w.podOf(op.Status.Outputs.JobName)
	if pod.Spec.ServiceAccountName != "nextcloud-myteam" || pod.Name != op.Status.Outputs.LogsRef.Name {
		t.Errorf("pod %s ran as %s", pod.Name, pod.Spec.ServiceAccountName)
	}
}
