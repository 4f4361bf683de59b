// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cli"
)

// kubeconfig writes a kubeconfig for the API server, with the namespace of the world.
func (w *world) kubeconfig() string {
	w.t.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters["it"] = &clientcmdapi.Cluster{Server: suite.config.Host, CertificateAuthorityData: suite.config.CAData}
	c.AuthInfos["it"] = &clientcmdapi.AuthInfo{ClientCertificateData: suite.config.CertData, ClientKeyData: suite.config.KeyData, Token: suite.config.BearerToken}
	c.Contexts["it"] = &clientcmdapi.Context{Cluster: "it", AuthInfo: "it", Namespace: w.namespace}
	c.CurrentContext = "it"
	path := filepath.Join(w.t.TempDir(), "kubeconfig")
	w.must(clientcmd.WriteToFile(*c, path))
	return path
}

// plugin runs kubectl-pintle, and returns its exit code and its output.
func (w *world) plugin(kubeconfig string, args ...string) (code int, output string) {
	w.t.Helper()
	var out, errOut bytes.Buffer
	s := &cli.Session{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut},
		Now:       time.Now, Env: os.Getenv,
	}
	cmd := cli.Command(s)
	cmd.SetArgs(append(args, "--kubeconfig", kubeconfig))
	code = s.Report(cmd.ExecuteContext(w.t.Context()))
	w.t.Logf("$ kubectl pintle %s\n%s%s", strings.Join(args, " "), out.String(), errOut.String())
	return code, out.String() + errOut.String()
}

// expectPlugin runs kubectl-pintle, and checks its exit code and parts of its output.
func (w *world) expectPlugin(kubeconfig string, code int, command string, parts ...string) {
	w.t.Helper()
	got, output := w.plugin(kubeconfig, strings.Fields(command)...)
	if got != code {
		w.t.Errorf("kubectl pintle %s ends with exit code %d, not %d", command, got, code)
	}
	for _, part := range parts {
		if !strings.Contains(output, part) {
			w.t.Errorf("the output of kubectl pintle %s does not contain %q", command, part)
		}
	}
}

// TestPlugin: the commands of kubectl-pintle work with the controller and the API server.
func TestPlugin(t *testing.T) {
	operationsServed(t)
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.revised([]string{"one", "two"})
	k := w.kubeconfig()

	w.expectPlugin(k, 0, "get", "NAME   STATE   READY", "app    Ready   True    UpgradeSucceeded   -       note@1.0.0")
	w.expectPlugin(k, 0, "get app -o json", `"state": "Ready"`, `"revision": 2`)
	w.expectPlugin(k, 0, "why app", "/app is ready: note@1.0.0+", "Released", "Events:", "UpgradeSucceeded")
	w.expectPlugin(k, 0, "reconcile app", "/app is ready: ")
	w.expectPlugin(k, 0, "reconcile app --force", "/app is ready: ", "v3")
	w.expectPlugin(k, 0, "suspend app --reason maintenance --until 1h", "is suspended: annotation pintle.dev/suspend: maintenance", "flux resume does not end it")
	w.expectPlugin(k, 3, "reconcile app", "nothing was requested; resume it first")
	w.expectPlugin(k, 0, "get", "Suspended", "resume, or ", "(maintenance)")
	// As flux reconcile does.
	w.annotate(hr, helmv2.AnnotationReconcileRequest, "flux")
	w.until(hr, "the suspension", func(hr *helmv2.HelmRelease) bool {
		return condition(hr, helmv2.ConditionSuspended).Status == metav1.ConditionTrue
	})
	w.quiet(hr)
	if ready := condition(hr, helmv2.ConditionReady); hr.Status.LastHandledReconcileAt == "flux" || ready.Status != metav1.ConditionTrue {
		t.Errorf("a suspended release has handled request %q, and Ready is %+v", hr.Status.LastHandledReconcileAt, ready)
	}
	w.expectPlugin(k, 0, "resume app", "/app is ready: ")
	w.expectPlugin(k, 1, "rollback app 40", "revision 40 of ", "does not exist, and nothing was requested: there are 3 (deployed), 2 (superseded), 1 (superseded)")
	w.expectPlugin(k, 0, "rollback app 1 --until 1h --reason revert", "1", "revert")
	if got := w.message("app"); got != "one" {
		t.Errorf("after the rollback, the message is %q", got)
	}
	w.expectPlugin(k, 0, "get", "Held", "end of the hold at revision 1 (revert)")
	w.expectPlugin(k, 3, "reconcile app", "/app is held at revision 1 (revert)")
	w.quiet(hr)
	w.expectPlugin(k, 0, "unhold hr/app", "/app is ready: ")
	w.expectPlugin(k, 0, "test app", "/app: ")

	w.expectPlugin(k, 0, "history app", "5          deployed     note@1.0.0", "rollback to 1 on request", "superseded", "1.0.0@sha256:")
	w.expectPlugin(k, 0, "history app --diff 1 2", "ConfigMap app (v1): changed", "-  message: one", "+  message: two", "values: changed")
	w.expectPlugin(k, 0, "values app --provenance", "message   inline   -           \"two\"")
	w.expectPlugin(k, 0, "tree app", "ConfigMap "+w.namespace+"/app", "Ready")
	w.expectPlugin(k, 1, "plan app", "/app has no plan")
	w.expectPlugin(k, 0, "plan app --request", "Upgrade of "+w.namespace+"/app")
	w.expectPlugin(k, 0, "plan app", "Upgrade of "+w.namespace+"/app", "No policy requires an approval.")
	w.expectPlugin(k, 0, "plans", "app    NotRequired   Upgrade   note@1.0.0")
	w.expectPlugin(k, 0, "policies")
	w.expectPlugin(k, 0, "operations", "No Operations found")
	w.expectPlugin(k, 1, "why ap", "Did you mean app?")
	w.expectPlugin(k, 1, "why app --namespace default", "HelmRelease app not found in namespace default. There is one in namespace")
	w.expectPlugin(k, 1, "approve app --digest sha256:old", "nothing was approved")
	w.expectPlugin(k, 1, "approve app", "Approve this plan?", "nothing was changed")
	w.expectPlugin(k, 0, "approve app --yes", "approved: sha256:")
	w.expectPlugin(k, 0, "reject app", "rejected: sha256:")

	w.says(hr, "three")
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": 3}) })
	w.until(hr, "a failure", func(hr *helmv2.HelmRelease) bool { return condition(hr, "Ready").Status == "False" })
	w.expectPlugin(k, 0, "why app", "Message:", "docs/spec/problems.md#reasons")
	w.expectPlugin(k, 1, "reconcile app", "is not ready")

	// The suite has no Deployments.
	w.expectPlugin(k, 1, "doctor", "OK       CRDs", "no controller of HelmReleases runs")
	w.expectPlugin(k, 1, "get --as=stranger", "is forbidden")
	w.expectPlugin(k, 1, "doctor --as=stranger", "HelmReleases could not be read", "Deployments could not be read")
	w.expectPlugin(k, 1, "history app --as=stranger", "is forbidden")
	w.expectPlugin(k, 1, "get --context=missing", "context was not found for specified context: missing")
}

// TestPluginRuns: kubectl-pintle runs a hook, and ends with the result of its Operation.
func TestPluginRuns(t *testing.T) {
	operationsServed(t)
	w := newWorld(t)
	w.publish("app", "1.0.0", hooked(t, "1.0.0", "pre-upgrade"))
	w.untilReady(w.release("app", nil))
	k := w.kubeconfig()
	w.expectPlugin(k, 1, "run app missing", "created", "failed", "app-migrate (Job, pre-upgrade")

	done := make(chan struct{})
	go func() {
		defer close(done)
		w.expectPlugin(k, 0, "run app app-migrate", "created", "succeeded")
	}()
	var op opsv1alpha1.Operation
	untilTrue(w, "the Operation", func() bool {
		var all opsv1alpha1.OperationList
		w.must(suite.client.List(t.Context(), &all, client.InNamespace(w.namespace)))
		for _, o := range all.Items {
			if strings.HasPrefix(o.Name, "app-migrate-") {
				op = o
			}
		}
		return op.Name != ""
	}, &opsv1alpha1.Operation{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace}})
	w.succeed(&op)
	<-done
	w.must(client.IgnoreNotFound(suite.client.Delete(t.Context(), &op)))
}
