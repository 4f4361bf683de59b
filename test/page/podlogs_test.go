// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// podLogs returns the log of a container on a simulated node.
type podLogs func(namespace, pod string) []string

// serve makes the API server read the logs of all Pods from l, in place of a kubelet.
func (l podLogs) serve(t *testing.T) {
	t.Helper()
	// The API server does not verify the certificate of a kubelet.
	server := httptest.NewTLSServer(l)
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	nodes := &corev1.NodeList{}
	if err := suite.Client.List(t.Context(), nodes); err != nil || len(nodes.Items) == 0 {
		t.Fatal(len(nodes.Items), "nodes", err)
	}
	patch := json.RawMessage(fmt.Sprintf(`{"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": %s}}}}`, port))
	for i := range nodes.Items {
		if err := suite.Client.Status().Patch(t.Context(), &nodes.Items[i], client.RawPatch(types.StrategicMergePatchType, patch)); err != nil {
			t.Fatal(err)
		}
	}
}

// ServeHTTP answers requests for /containerLogs/NAMESPACE/POD/CONTAINER.
func (l podLogs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/containerLogs/"), "/")
	if len(parts) != 3 {
		http.NotFound(w, r)
		return
	}
	lines := l(parts[0], parts[1])
	if tail, err := strconv.Atoi(r.URL.Query().Get("tailLines")); err == nil && tail < len(lines) {
		lines = lines[len(lines)-tail:]
	}
	_, _ = fmt.Fprintln(w, strings.Join(lines, "\n"))
}
