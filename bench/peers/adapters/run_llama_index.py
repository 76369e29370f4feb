"""LlamaIndex: VectorStoreIndex and BM25Retriever, fused by reciprocal ranks, one query (no generated ones)."""

from __future__ import annotations

from typing import Any

from harness import DEPTH, Row, compete, joined
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.embeddings.huggingface import HuggingFaceEmbedding
from llama_index.retrievers.bm25 import BM25Retriever
from shared_vectors import share


def index(rows: list[Row], job: dict[str, Any]) -> Any:
    encoder = HuggingFaceEmbedding(model_name=job["model"], device="cpu")
    documents = [Document(text=joined(title, text), doc_id=name) for name, title, text in rows]
    vectors = VectorStoreIndex.from_documents(documents, embed_model=encoder)
    keywords = BM25Retriever.from_defaults(docstore=vectors.docstore, similarity_top_k=DEPTH)
    return QueryFusionRetriever(
        [vectors.as_retriever(similarity_top_k=DEPTH), keywords],
        llm=MockLLM(),  # with num_queries=1 it is never asked
        similarity_top_k=DEPTH,
        num_queries=1,
        mode="reciprocal_rerank",
        use_async=False,
    )


def ask(retriever: Any, question: str) -> list[str]:
    return list(dict.fromkeys(found.node.ref_doc_id for found in retriever.retrieve(question)))


if __name__ == "__main__":
    share()
    packages = ["llama-index-core", "llama-index-retrievers-bm25", "llama-index-embeddings-huggingface"]
    compete(index, {"hybrid": ask}, [*packages, "sentence-transformers", "transformers", "torch", "bm25s"])
